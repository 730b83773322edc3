/// A regular expression of ECMA-262 (in its Unicode mode, where a character is a scalar), without features that can't
/// be matched in linear time: backreferences and lookaround are refused. As in ECMA-262, it matches anywhere in the
/// text unless it is anchored.
///
/// Compiled to a program for "Pike's VM" (Russ Cox, "Regular Expression Matching: the Virtual Machine Approach",
/// https://swtch.com/~rsc/regexp/regexp2.html), which follows all paths through the program at once, character by
/// character.
struct Pattern: Sendable {
    /// The pattern for messages: truncated if it is long.
    let words: String
    private let program: [Instruction]

    enum Instruction: Sendable {
        /// `cost`: the steps for a look-up in the set.
        case character(CharacterSet, cost: Int)
        case assertion(Assertion)
        /// Continues at both indices.
        case split(Int, Int)
        case jump(Int)
        case match
    }

    enum Assertion: Sendable {
        case start, end, wordBoundary, noWordBoundary
    }

    /// In instructions: a group with `{1000}` counts a thousand times.
    static let maxSize = 5_000

    var size: Int { program.count }

    init(_ text: String) throws(PatternError) {
        words = text.shortened()
        var parser = PatternParser(text)
        program = PatternProgram.make(try parser.parse())
        if program.count > Self.maxSize { throw PatternError("it is too large") }
    }

    /// - Parameter budget: spends steps for each character and each path through the program; if it is exhausted, the
    ///   result is `false`.
    func matches(_ text: String, _ budget: inout WorkBudget) -> Bool {
        guard budget.spend(10 + program.count / 16) else { return false }
        var now = Threads(capacity: program.count)
        var next = Threads(capacity: program.count)
        var before: Unicode.Scalar?
        var scalars = text.unicodeScalars.makeIterator()
        var character = scalars.next()
        while true {
            guard budget.spend(1) else { return false }
            if add(0, to: &now, before, character, &budget) { return true }
            guard let current = character else { return false }
            let after = scalars.next()
            next.removeAll()
            for index in now.places {
                guard case .character(let set, let cost) = program[index] else { continue }
                guard budget.spend(cost) else { return false }
                guard set.contains(current) else { continue }
                if add(index + 1, to: &next, current, after, &budget) { return true }
            }
            swap(&now, &next)
            before = current
            character = after
        }
    }

    /// Follows all instructions that consume no character.
    /// - Returns: whether there is a match.
    private func add(
        _ start: Int, to threads: inout Threads, _ before: Unicode.Scalar?, _ after: Unicode.Scalar?,
        _ budget: inout WorkBudget
    ) -> Bool {
        threads.stack.append(start)
        while let index = threads.stack.popLast() {
            guard threads.insert(index) else { continue }
            budget.spend(1)
            switch program[index] {
            case .match:
                threads.stack.removeAll(keepingCapacity: true)
                return true
            case .jump(let target): threads.stack.append(target)
            case .split(let one, let two):
                threads.stack.append(two)
                threads.stack.append(one)
            case .assertion(let assertion):
                if assertion.holds(before, after) { threads.stack.append(index + 1) }
            case .character: break
            }
        }
        return false
    }
}

extension Pattern.Assertion {
    fileprivate func holds(_ before: Unicode.Scalar?, _ after: Unicode.Scalar?) -> Bool {
        switch self {
        case .start: before == nil
        case .end: after == nil
        case .wordBoundary: isWord(before) != isWord(after)
        case .noWordBoundary: isWord(before) == isWord(after)
        }
    }

    private func isWord(_ scalar: Unicode.Scalar?) -> Bool { scalar.map(CharacterSet.word.contains) ?? false }
}

extension String {
    /// Truncated to a length that fits in a sentence.
    package func shortened(to limit: Int = 200) -> String {
        unicodeScalars.count <= limit ? self : String(String.UnicodeScalarView(unicodeScalars.prefix(limit))) + "…"
    }
}

/// The current positions in the program.
private struct Threads {
    private(set) var places: [Int] = []
    private var isPlace: [Bool]
    /// Positions that are not followed yet.
    var stack: [Int] = []

    init(capacity: Int) { isPlace = [Bool](repeating: false, count: capacity) }

    /// - Returns: `false` if it is already in the set.
    mutating func insert(_ place: Int) -> Bool {
        if isPlace[place] { return false }
        isPlace[place] = true
        places.append(place)
        return true
    }

    mutating func removeAll() {
        for place in places { isPlace[place] = false }
        places.removeAll(keepingCapacity: true)
    }
}
