/// A parsed pattern as a tree.
indirect enum PatternTree {
    case empty
    case character(CharacterSet)
    case assertion(Pattern.Assertion)
    case sequence([PatternTree])
    case choice([PatternTree])
    /// `max` is `nil` for no limit.
    case repetition(PatternTree, min: Int, max: Int?)
}

/// Compiles the tree to instructions.
struct PatternProgram {
    private var instructions: [Pattern.Instruction] = []

    static func make(_ tree: PatternTree) -> [Pattern.Instruction] {
        var program = PatternProgram()
        program.emit(tree)
        program.instructions.append(.match)
        return program.instructions
    }

    private mutating func emit(_ tree: PatternTree) {
        // Too large already: the rest is not needed.
        guard instructions.count <= Pattern.maxSize else { return }
        switch tree {
        case .empty: break
        case .character(let set): instructions.append(.character(set, cost: set.cost))
        case .assertion(let assertion): instructions.append(.assertion(assertion))
        case .sequence(let parts): for part in parts { emit(part) }
        case .choice(let parts): emit(choice: parts[...])
        case .repetition(let part, let min, let max): emit(part, min, max)
        }
    }

    private mutating func emit(choice parts: ArraySlice<PatternTree>) {
        var jumps: [Int] = []
        for (index, part) in parts.enumerated() {
            guard index < parts.count - 1 else {
                emit(part)
                break
            }
            let split = reserve()
            emit(part)
            jumps.append(reserve())
            instructions[split] = .split(split + 1, instructions.count)
        }
        for jump in jumps { instructions[jump] = .jump(instructions.count) }
    }

    private mutating func emit(_ part: PatternTree, _ min: Int, _ max: Int?) {
        for _ in 0..<min {
            let before = instructions.count
            emit(part)
            // The parser leaves nothing empty to repeat: the program is too large, and can't become smaller.
            if instructions.count == before { break }
        }
        guard let max else {
            let split = reserve()
            emit(part)
            instructions.append(.jump(split))
            instructions[split] = .split(split + 1, instructions.count)
            return
        }
        var splits: [Int] = []
        for _ in min..<Swift.max(min, max) where instructions.count <= Pattern.maxSize {
            splits.append(reserve())
            emit(part)
        }
        for split in splits { instructions[split] = .split(split + 1, instructions.count) }
    }

    /// Reserves an instruction whose target is not known yet.
    private mutating func reserve() -> Int {
        instructions.append(.match)
        return instructions.count - 1
    }
}
