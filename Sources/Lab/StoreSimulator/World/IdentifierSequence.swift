import AppStore
import Randomness

/// Transaction and line item numbers like Apple's: decimal, increasing with time, unique within a store.
struct IdentifierSequence: Hashable, Sendable {
    private var transaction: UInt64
    private var lineItem: UInt64
    private var step: UInt64 = 1

    /// The numbers of one customer; beyond them, the next customer's begin.
    static let blockSize: UInt64 = 10_000
    /// The number of blocks, each for one customer.
    static let blockCount: UInt64 = 10_000_000_000

    /// The numbers of one customer of a store.
    init(block: UInt64, environment: AppStoreEnvironment) {
        // Sandbox numbers begin with 2 and have 16 digits; those of Production have fifteen, and first digits that vary by store.
        let base: UInt64 = environment == .sandbox ? 2_000_000_000_000_000 : 350_000_000_000_000
        let offset = block % Self.blockCount * Self.blockSize
        transaction = base + offset
        lineItem = base + offset
    }

    /// Numbers above `first` that differ from it by multiples of `step`.
    init(first: UInt64, step: UInt64) {
        transaction = first
        lineItem = first
        self.step = step
    }

    /// Numbers above these.
    init(transaction: UInt64, lineItem: UInt64) {
        self.transaction = transaction
        self.lineItem = lineItem
    }

    /// The next transactionId.
    mutating func nextTransactionID(using generator: inout SeededGenerator) -> String {
        transaction += step * UInt64.random(in: 1...7, using: &generator)
        return String(transaction)
    }

    /// The next webOrderLineItemId.
    mutating func nextLineItemID(using generator: inout SeededGenerator) -> String {
        lineItem += step * UInt64.random(in: 1...3, using: &generator)
        return String(lineItem)
    }
}
