/// What the gate knows, as a value: each change returns who is to be let in once the lock is released.
struct SoloGateState<Waiter: Sendable>: Sendable {
    private enum Solo: Sendable {
        /// Can transition to: reserved.
        case none
        /// Somebody is about to ask; nobody new is let in. Can transition to: waiting, running.
        case reserved
        /// Can transition to: none, running.
        case waiting(Waiter)
        /// Can transition to: none.
        case running
    }

    private(set) var running = 0
    /// Batches that have left before their end.
    private(set) var givenUp = 0
    /// Those inside that have been alone and go on beside others.
    private(set) var lingering = 0
    private var solo = Solo.none
    private var line: [Waiter] = []
    private var isClosed = false

    /// Returns whether the waiter is in; otherwise it is kept.
    mutating func enter(_ waiter: Waiter) -> Bool {
        guard case .none = solo, !isClosed else {
            line.append(waiter)
            return false
        }
        running += 1
        return true
    }

    /// Keeps newcomers out on behalf of who asks; false if somebody else does already, or if it would be in vain: nobody knows when those end that
    /// were given up or have been alone for long.
    mutating func reserve() -> Bool {
        guard case .none = solo, !isClosed, givenUp == 0, lingering == 0 else { return false }
        solo = .reserved
        return true
    }

    private mutating func admitLine() -> [Waiter] {
        guard !isClosed else { return [] }
        running += line.count
        defer { line.removeAll() }
        return line
    }

    /// Returns whether the waiter, who has reserved, is in by himself; otherwise he is kept.
    mutating func enterAlone(_ waiter: Waiter) -> Bool {
        solo = running == 0 ? .running : .waiting(waiter)
        return running == 0
    }

    /// Who waits to be in by himself does so no more; returns him, and who comes in instead.
    mutating func withdraw() -> (solo: Waiter?, line: [Waiter]) {
        guard case .waiting(let waiter) = solo else { return (nil, []) }
        solo = .none
        return (waiter, admitLine())
    }

    /// Nobody new is let in from now on; returns how many are inside.
    mutating func close() -> Int {
        isClosed = true
        if case .running = solo { return 1 }
        return running
    }

    /// Who is in by himself goes on beside others; returns who comes in.
    mutating func letOthersIn() -> [Waiter] {
        guard case .running = solo else { return [] }
        solo = .none
        running += 1
        lingering += 1
        return admitLine()
    }

    /// Somebody who was in has left; returns who comes in.
    mutating func leave(isLingering: Bool = false) -> [Waiter] {
        if isLingering { lingering -= 1 }
        switch solo {
        case .running:
            solo = .none
            return admitLine()
        case .waiting(let waiter):
            running -= 1
            guard running == 0, !isClosed else { return [] }
            solo = .running
            return [waiter]
        case .none, .reserved:
            running -= 1
            return []
        }
    }

    /// Somebody who was in is not to be waited for any more; returns who comes in.
    mutating func giveUp(isLingering: Bool = false) -> [Waiter] {
        givenUp += 1
        return leave(isLingering: isLingering)
    }

    /// What was given up has ended after all.
    mutating func endGivenUp() -> [Waiter] {
        givenUp -= 1
        return []
    }
}
