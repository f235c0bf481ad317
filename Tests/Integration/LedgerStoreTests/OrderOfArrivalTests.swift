import AppStore
import FoundationEssentials
import Ledger
import LedgerTesting
import Postgres
import Testing

/// Contradicting facts and concurrent batches. `OrderIndependenceTests` plays random lives in any order.
struct OrderOfArrivalTests {
    private enum Step: Sendable {
        case charge(Facts.Charge)
        case post(Facts.Charge, by: String, onDay: Double, eventID: Int64)
        case receipt(ReceiptFact, postedBy: String?, eventID: Int64)
        case link(String, to: String, onDay: Double)
    }

    private func play(_ steps: [Step], split: Int) async throws -> [String] {
        var state: [String] = []
        try await LedgerFixture.with { ledger in
            var batch: [EventFacts] = []
            for step in steps {
                switch step {
                case .charge(let charge): batch += try ledger.events([charge])
                case .post(let charge, let user, let day, let eventID):
                    batch.append(try ledger.posted(charge, by: user, onDay: day, eventID: eventID))
                case .receipt(let receipt, let user, let eventID):
                    batch.append(ledger.receipt([receipt], postedBy: user, naming: receipt.key.id, onDay: 1, eventID: eventID))
                case .link(let contract, let user, let day):
                    try await ledger.merge(batch)
                    batch = []
                    try await ledger.link(contract, to: user, onDay: day)
                }
                if batch.count >= split {
                    try await ledger.merge(batch)
                    batch = []
                }
            }
            try await ledger.merge(batch)
            state = try await ledger.state()
        }
        return state
    }

    /// When JWS and receipt contradict each other about a charge's contract, the JWS counts, and the receipt's rows are removed.
    @Test(arguments: [Facts.Charge("1005", onDay: 0), Facts.Charge("1005", onDay: 0).with { $0.ownership = .familyShared }])
    func `a charge that moves to another contract leaves no rows behind`(charge: Facts.Charge) async throws {
        let elsewhere = charge.with { $0.contract = "2000" }
        let token = UUID()
        let renewal = Facts.Charge("1006", onDay: 30).with { $0.contract = "2000" }
        func receipt(_ eventID: Int64, postedBy user: String?) -> Step {
            .receipt(elsewhere.receipt(.signedReceipt, onDay: 1), postedBy: user, eventID: eventID)
        }
        let sets: [[Step]] = [
            [receipt(11, postedBy: nil), .charge(charge)],
            [receipt(11, postedBy: "anna"), .charge(charge)],
            [receipt(11, postedBy: "anna"), .charge(charge.with { ($0.signedDay, $0.token) = (2, token) }), .charge(charge)],
            [receipt(11, postedBy: "anna"), .charge(charge.with { $0.purchaseDay = -4 })],
            [receipt(11, postedBy: nil), .charge(charge), .charge(renewal)],
            [.charge(elsewhere), .charge(charge.with { $0.signedDay = 1 }), .charge(renewal), .link("2000", to: "bert", onDay: 40)],
            [.post(elsewhere, by: "anna", onDay: 1, eventID: 5), .charge(charge.with { ($0.signedDay, $0.token) = (1, token) })],
        ]
        for (number, steps) in sets.enumerated() {
            let expected = try await play(steps, split: 1)
            #expect(try await play(steps.reversed(), split: 1) == expected, "set \(number)")
            #expect(try await play(steps, split: 100) == expected, "set \(number) in one batch")
            #expect(try await play(steps + steps.dropLast(), split: 1) == expected, "set \(number) merged twice")
        }
    }

    @Test func `an order and its purchase that commit at the same instant see each other`() async throws {
        for _ in 0..<10 {
            try await LedgerFixture.with { ledger in
                let token = UUID()
                let events = try ledger.events([Facts.Charge("1000", onDay: 0, token: token)])
                async let purchase: MergeResult = ledger.merge(events)
                async let order: Void = ledger.createOrder(token, user: "anna")
                _ = try await (purchase, order)
                #expect(try await ledger.orders() == ["1000 anna paid token"])
                #expect(try await ledger.contracts() == ["1000 anna 1000 30"])
            }
        }
    }

    /// A batch that meets a contract which another one is making may have to give way, and a worker runs it again.
    @Test(arguments: [true, false]) func `concurrent batches about the same contracts do not differ, and none about known ones fails`(
        areKnown: Bool
    ) async throws {
        try await LedgerFixture.with { ledger in
            let charges = (0..<40).map { number in
                Facts.Charge("\(2000 + number)", onDay: Double(number)).with { $0.contract = "\(1000 + number % 5)" }
            }
            if areKnown { try await ledger.merge(ledger.events(Array(charges.prefix(5)))) }
            try await withThrowingTaskGroup { group in
                for _ in 0..<4 {
                    let events = try ledger.events(charges.shuffled())
                    group.addTask {
                        while true {
                            do {
                                _ = try await ledger.merge(events)
                                return
                            } catch let error as PostgresError where !areKnown && error.sqlState == .deadlockDetected {}
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await ledger.orders().count == 40)
            #expect(try await ledger.contracts().count == 5)
        }
    }
}
