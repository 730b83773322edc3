import HeraldJSON

/// A member of the outermost object of a filter: the conditions on one member of the event, or alternatives.
indirect enum FilterField: Sendable {
    case member(Name, FilterClause)
    case anyOf([[FilterField]])

    /// A member of the event. `source` is the attribute of CloudEvents, which other events do not have. `channels` is an array.
    enum Name: String, CaseIterable { case id, type, source, subject, time, channels, data }

    /// The key in the outermost object.
    var key: String {
        switch self {
        case .member(let name, _): name.rawValue
        case .anyOf: FilterClause.alternatives
        }
    }

    var needsData: Bool {
        switch self {
        case .member(let name, _): name == .data
        case .anyOf(let alternatives): alternatives.contains { $0.contains(where: \.needsData) }
        }
    }

    /// - Parameter budget: if it is exhausted, the result is `true`.
    static func all(_ fields: [FilterField], match event: EventView, _ budget: inout WorkBudget) -> Bool {
        fields.allSatisfy { $0.matches(event, &budget) }
    }

    private func matches(_ event: EventView, _ budget: inout WorkBudget) -> Bool {
        switch self {
        case .member(.data, let clause): clause.accepts(event.data, &budget)
        case .member(.channels, let clause): clause.accepts(oneOf: event.event.channels, &budget)
        case .member(let name, let clause): clause.accepts(event.text(of: name), &budget)
        case .anyOf(let alternatives): alternatives.contains { Self.all($0, match: event, &budget) }
        }
    }

    /// The first condition that fails.
    static func firstMismatch(
        _ fields: [FilterField], _ event: EventView, at pointer: String, _ budget: inout WorkBudget
    ) -> FilterMismatch? {
        for field in fields {
            if let mismatch = field.mismatch(event, at: pointer, &budget) { return mismatch }
        }
        return nil
    }

    /// - Parameter pointer: that of the object with the member.
    private func mismatch(
        _ event: EventView, at pointer: String, _ budget: inout WorkBudget
    ) -> FilterMismatch? {
        switch self {
        case .member(let name, let clause):
            let path = JSONPointer.child(pointer, name.rawValue)
            switch name {
            case .data: return clause.mismatch(event.data, at: path, &budget)
            case .channels: return clause.mismatch(oneOf: event.event.channels, at: path, &budget)
            default: return clause.mismatch(event.text(of: name), at: path, &budget)
            }
        case .anyOf(let alternatives):
            guard !matches(event, &budget) else { return nil }
            let path = JSONPointer.child(pointer, FilterClause.alternatives)
            let reasons = alternatives.prefix(FilterMismatch.explainedAlternatives).enumerated().compactMap {
                Self.firstMismatch($1, event, at: "\(path)/\($0)", &budget)
            }
            return .noAlternative(of: alternatives.count, at: path, reasons)
        }
    }
}

extension EventView {
    /// A member of the event that is a string; `nil` if the event does not have it.
    func text(of name: FilterField.Name) -> String? {
        switch name {
        case .id: event.id
        case .type: event.type
        case .source: event.attribute(CloudEventAttribute.source)
        case .subject: event.subject
        case .time: time
        case .channels, .data: nil
        }
    }
}
