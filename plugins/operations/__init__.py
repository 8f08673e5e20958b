"""Operations that are no convolutions; see the packages."""
