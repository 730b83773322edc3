@_exported public import HeraldCore
