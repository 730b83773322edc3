import HeraldJSON

/// A compiled template. The depth is bounded by ``TemplateLimits/depth``, so functions may call themselves.
indirect enum TemplateNode: Sendable {
    /// JSON without placeholders.
    case constant([UInt8])
    /// A string with placeholders in a text.
    case text([TemplatePiece], at: String)
    /// A string that is one placeholder: the value keeps its type.
    case value(TemplateExpression, at: String)
    case object([Member], at: String)
    case array([TemplateNode], at: String)
    /// `$if`: one of two, by a condition on the event.
    case choice(ContentFilter, then: TemplateNode, otherwise: TemplateNode, at: String)
    /// `$each`: an array with a value for each element of another one.
    case each(TemplatePath, TemplateNode, at: String)
    /// `$pick`, and `$omit`: the members of an object that have, or do not have, these names.
    case members(TemplatePath, names: Set<ExactText>, areKept: Bool, at: String)
    /// `$merge`: the members of several objects; of members with the same name the last one.
    case merge([TemplateNode], at: String)

    struct Member: Sendable {
        /// `"name":`
        let key: [UInt8]
        let value: TemplateNode
    }

    var constant: [UInt8]? {
        if case .constant(let bytes) = self { bytes } else { nil }
    }
}
