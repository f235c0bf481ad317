import AppStore
import Ledger
import LivesTesting

/// A history with the facts of its events and its reference model.
struct PreparedLife: Sendable {
    let history: History
    private(set) var facts: [EventFacts]
    let model: ReferenceModel

    /// - Parameter acceptsForgedReceipts: whether the facts treat every receipt as genuine, unlike the model.
    init(
        seed: UInt64,
        index: Int,
        receiptText: (@Sendable (AppReceipt, ReceiptIssuer) throws -> String)? = nil,
        acceptsForgedReceipts: Bool = false
    ) throws {
        history = try History(seed: seed, index: index, receiptText: receiptText)
        facts = try UnsignedFacts.facts(of: history.events, acceptsForgedReceipts: acceptsForgedReceipts)
        model = ReferenceModel([history])
    }

    /// Prepares many histories, and yields to other tests between them: each takes milliseconds.
    static func make(
        _ indices: some Sequence<Int>,
        seed: UInt64 = Seed.current,
        receiptText: (@Sendable (AppReceipt, ReceiptIssuer) throws -> String)? = nil,
        acceptsForgedReceipts: Bool = false
    ) async throws -> [PreparedLife] {
        var lives: [PreparedLife] = []
        for index in indices {
            lives.append(try PreparedLife(seed: seed, index: index, receiptText: receiptText, acceptsForgedReceipts: acceptsForgedReceipts))
            await Task.yield()
        }
        return lives
    }
}

extension PreparedLife {
    /// Without the effects `status_found`, which depend on the order: see ``ReferenceModel/found``.
    var withoutFoundStatuses: PreparedLife {
        var life = self
        for index in life.facts.indices { life.facts[index].effects.removeAll { $0.key.kind == .statusFound } }
        return life
    }
}

extension [PreparedLife] {
    /// The lines of all models, unsorted.
    func lines(_ lines: (ReferenceModel) -> [String] = { $0.lines() }) async -> [String] {
        var all: [String] = []
        for life in self {
            all += lines(life.model)
            await Task.yield()
        }
        return all
    }

    var commands: [LifeCommand] { flatMap(\.history.commands) }

    /// All events and commands, once each.
    var steps: [LedgerFixture.Step] { flatMap(\.facts).map(LedgerFixture.Step.event) + commands.map(LedgerFixture.Step.command) }
}
