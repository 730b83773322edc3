extension EventSelection {
    package static let maxPatterns = 64
    package static let maxSubjects = 1_000

    /// The errors of a choice of events, with the field names of the HTTP API.
    package static func problems(ofEvents events: [EventPattern], subjects: [String]) -> [FieldError] {
        var errors: [FieldError] = []
        if !(1...maxPatterns).contains(events.count) {
            errors.append(FieldError("/events", "must be 1 to \(maxPatterns) patterns"))
        }
        for (index, pattern) in events.enumerated() where EventPattern(pattern.text) != pattern {
            errors.append(FieldError("/events/\(index)", "must be \(EventPattern.words)"))
        }
        if subjects.count > maxSubjects {
            errors.append(FieldError("/subjects", "must be at most \(maxSubjects) subjects"))
        }
        for (index, subject) in subjects.enumerated() {
            if let problem = SubjectSelection.problem(subject) {
                errors.append(FieldError("/subjects/\(index)", problem))
            }
        }
        return errors
    }
}
