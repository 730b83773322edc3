import HeraldJSON

/// A regular expression of ECMA-262 (in its Unicode mode, a character being a scalar), without what can't be matched in
/// linear time: backreferences and lookaround are refused. As in ECMA-262, it matches anywhere in the text unless it is
/// anchored.
///
/// Compiled to a program that is run by "Pike's VM" (Russ Cox, "Regular Expression Matching: the Virtual Machine Approach",
/// https://swtch.com/~rsc/regexp/regexp2.html): all ways through the program at once, character by character.
struct Pattern: Sendable {
    /// As it was written, for people: its beginning when it is long.
    let words: String
    private let program: [Instruction]

    enum Instruction: Sendable {
        /// `cost`: steps that looking into the set is worth.
        case character(CharacterSet, cost: Int)
        case assertion(Assertion)
        /// Goes on in both places.
        case split(Int, Int)
        case jump(Int)
        case match
    }

    enum Assertion: Sendable {
        case start, end, wordBoundary, noWordBoundary
    }

    /// Instructions: what `{1000}` makes of a group counts.
    static let maxSize = 5_000

    var size: Int { program.count }

    init(_ text: String) throws(PatternError) {
        words = text.beginning
        var parser = PatternParser(text)
        program = PatternProgram.make(try parser.parse())
        if program.count > Self.maxSize { throw PatternError("it is too large") }
    }

    /// - Parameter budget: spends steps for each character and each way through the program; when it is spent, the answer is
    ///   false.
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
                budget.spend(cost)
                guard set.contains(current) else { continue }
                if add(index + 1, to: &next, current, after, &budget) { return true }
            }
            swap(&now, &next)
            before = current
            character = after
        }
    }

    /// Follows everything that takes no character.
    /// - Returns: whether that ends in a match.
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
    /// So much of it as a sentence can hold.
    var beginning: String {
        unicodeScalars.count <= 200 ? self : String(String.UnicodeScalarView(unicodeScalars.prefix(200))) + "…"
    }
}

/// The places in the program where the match may be.
private struct Threads {
    private(set) var places: [Int] = []
    private var isPlace: [Bool]
    /// Places yet to be followed.
    var stack: [Int] = []

    init(capacity: Int) { isPlace = [Bool](repeating: false, count: capacity) }

    /// - Returns: false, when it is there already.
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
