extension ReceiverReply: CustomStringConvertible {
    /// Short: `503 after 2000 ms`, `no response`, `reset`.
    package var description: String {
        var text: String
        switch content {
        case .answer(let answer):
            text = "\(answer.status)"
            if answer.body.count == nil { text += ", endless" }
            if let milliseconds = answer.body.dripMilliseconds { text += ", a byte every \(milliseconds) ms" }
            if answer.announcedLength != nil { text += ", broken off" }
        case .raw: text = "bytes"
        case .keyUpdates: text = "key updates"
        case .nothing: text = ""
        }
        let ending =
            switch end {
            case .keepOpen: text.isEmpty ? "no response" : ""
            case .close: "close"
            case .reset: "reset"
            case .refuse: "refuse the stream"
            }
        text += text.isEmpty || ending.isEmpty ? ending : ", \(ending)"
        switch hold {
        case .nothing, .forever: return text
        case .milliseconds(let milliseconds): return "\(text) after \(milliseconds) ms"
        case .gate: return "\(text) once the gate is open"
        }
    }
}

extension ReceiverReply {
    /// Whether the sender gets a success in the end.
    var isSuccess: Bool {
        if case .forever = hold { return false }
        if case .answer(let answer) = content { return (200...299).contains(answer.status) }
        return false
    }
}
