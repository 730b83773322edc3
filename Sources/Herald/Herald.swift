@_exported public import HeraldCore
@_exported public import HeraldDelivery
@_exported public import HeraldModel
