"""Keys of Parsl's connections for workers that see no folder of this machine: their jobs bring them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Final

#: variable of the job's shell: where it has put its keys
_FOLDER: Final = "CKPROF_KEYS"
#: a file of keys as ZeroMQ reads it
_FILE: Final = 'curve\n    public-key = "{public}"\n    secret-key = "{secret}"\n'


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """The keys of one executor, in CurveZMQ's text form."""

    #: where Parsl reads them on this machine
    folder: Path
    server_public: str
    client_public: str
    client_secret: str

    def carried_by(self, launch: str) -> str:
        """Return Parsl's command for starting workers, which writes their keys first.

        The server's secret key stays here. Whoever can read the job can do what its workers can.

        :param launch: a format string with a field ``cert_dir``.
        """
        # Parsl wants a secret key in the server's file as well, of which it takes the public one alone.
        server = _FILE.format(public=self.server_public, secret=self.server_public)
        client = _FILE.format(public=self.client_public, secret=self.client_secret)
        steps = [f"{_FOLDER}=$(mktemp -d)"]
        for name, text in (("server", server), ("client", client)):
            # Parsl formats it twice, and keys may have braces
            quoted = shlex.quote(text).replace("{", "{{{{").replace("}", "}}}}")
            steps.append(f'printf %s {quoted} > "${_FOLDER}/{name}.key_secret"')
        return " && ".join([*steps, launch.replace("{cert_dir}", f'"${_FOLDER}"')])


def make_keys(folder: Path) -> Keys:
    """Make new keys.

    :param folder: of this user alone; made.
    :raises OSError: they cannot be written.
    """
    import zmq.auth
    from parsl import curvezmq

    folder.mkdir(parents=True, exist_ok=True)
    made = Path(curvezmq.create_certificates(str(folder)))
    server_public, _ = zmq.auth.load_certificate(made / "server.key_secret")
    client_public, client_secret = zmq.auth.load_certificate(made / "client.key_secret")
    return Keys(
        folder=made,
        server_public=server_public.decode(),
        client_public=client_public.decode(),
        client_secret=(client_secret or b"").decode(),
    )
