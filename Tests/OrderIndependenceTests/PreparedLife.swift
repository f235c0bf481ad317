import AppStore
import Ledger
import LivesTesting

/// A history with the facts of its events and what the model makes of it.
struct PreparedLife: Sendable {
    let history: History
    let facts: [EventFacts]
    let model: ReferenceModel

    /// - Parameter believesReceipts: whether the facts are those of somebody who believes every receipt, as the model does not.
    init(
        seed: UInt64,
        index: Int,
        receiptText: (@Sendable (AppReceipt, ReceiptHand) throws -> String)? = nil,
        believesReceipts: Bool = false
    ) throws {
        history = try History(seed: seed, index: index, receiptText: receiptText)
        facts = try UnsignedFacts.facts(of: history.events, believesReceipts: believesReceipts)
        model = ReferenceModel([history])
    }

    /// Prepares many lives, and lets other tests go on between them: each takes milliseconds.
    static func make(
        _ indices: some Sequence<Int>,
        seed: UInt64 = Seed.current,
        receiptText: (@Sendable (AppReceipt, ReceiptHand) throws -> String)? = nil,
        believesReceipts: Bool = false
    ) async throws -> [PreparedLife] {
        var lives: [PreparedLife] = []
        for index in indices {
            lives.append(try PreparedLife(seed: seed, index: index, receiptText: receiptText, believesReceipts: believesReceipts))
            await Task.yield()
        }
        return lives
    }
}

extension [PreparedLife] {
    /// The lines of all models, in no order.
    func lines(_ lines: (ReferenceModel) -> [String] = { $0.lines() }) async -> [String] {
        var all: [String] = []
        for life in self {
            all += lines(life.model)
            await Task.yield()
        }
        return all
    }

    var commands: [LifeCommand] { flatMap(\.history.commands) }

    /// Everything that happened, once each.
    var steps: [BookHall.Step] { flatMap(\.facts).map(BookHall.Step.event) + commands.map(BookHall.Step.command) }
}
