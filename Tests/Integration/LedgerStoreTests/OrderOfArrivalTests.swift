import AppStore
import FoundationEssentials
import Ledger
import LedgerTesting
import Postgres
import Randomness
import Testing

/// The ledger is a function of the set of facts and commands.
struct OrderOfArrivalTests {
    private enum Step: Sendable {
        case charge(Facts.Charge)
        case renewal(SubscriptionFact)
        case post(Facts.Charge, by: String, onDay: Double, eventID: Int64)
        case refund(RefundRequestFact)
        case receipt([ReceiptFact], postedBy: String?, naming: String?, onDay: Double, eventID: Int64)
        case legacyRenewal(V1RenewalFact)
        case order(UUID, user: String)
        case link(String, to: String, onDay: Double)
    }

    /// Facts, posts and commands about two contracts, which share tokens, products and signing dates more often than real ones.
    private func makeSteps(using generator: inout SeededGenerator) throws -> [Step] {
        let tokens = (0..<3).compactMap { UUID(uuidString: "0e9b4b7c-0000-4000-8000-00000000000\($0)") }
        var steps = tokens.prefix(2).enumerated().map { Step.order($1, user: "user-\($0)") }
        for number in 0..<Int.random(in: 3...9, using: &generator) {
            let charge = makeCharge(tokens, using: &generator)
            steps.append(.charge(charge))
            switch number % 4 {
            case 0:
                let status = Status(rawValue: Int32.random(in: 1...5, using: &generator))
                steps.append(.renewal(Facts.subscription(charge.contract, signedDate: Facts.day(charge.signedDay), status: status)))
            case 1, 2:
                let (user, delay) = (Int.random(in: 0...2, using: &generator), Double.random(in: 0...4, using: &generator))
                steps.append(
                    .post(
                        charge,
                        by: "user-\(user)",
                        onDay: charge.purchaseDay + delay,
                        eventID: Int64.random(in: 1...9, using: &generator)
                    )
                )
            default:
                let kind: RefundRequestFact.Kind = Bool.random(using: &generator) ? .asked : .declined
                let signedDate = Facts.day(Double(Int.random(in: 0...1, using: &generator)))
                steps.append(.refund(try Facts.refundStatement(kind, of: charge, uuid: "u", signedDate: signedDate)))
            }
        }
        for _ in 0..<Int.random(in: 0...3, using: &generator) {
            steps.append(try makeReceipt(tokens, using: &generator))
        }
        if Bool.random(using: &generator) {
            steps.append(.link("1000", to: "user-3", onDay: Double(Int.random(in: 0...150, using: &generator))))
        }
        return steps
    }

    /// A receipt with some charges, or facts about a renewal.
    private func makeReceipt(_ tokens: [UUID], using generator: inout SeededGenerator) throws -> Step {
        let day = Double(Int.random(in: 0...120, using: &generator))
        if Int.random(in: 0...3, using: &generator) == 0 {
            let isInRetry = Bool.random(using: &generator)
            return .legacyRenewal(
                try Facts.legacyRenewal(
                    Bool.random(using: &generator) ? "1000" : "1001",
                    bundle: Bool.random(using: &generator) ? "com.example.app" : "com.example.other",
                    onDay: day,
                    willRenew: Bool.random(using: &generator),
                    isInBillingRetry: isInRetry,
                    graceUntilDay: isInRetry && Bool.random(using: &generator) ? day + 16 : nil
                )
            )
        }
        let forms: [ReceiptFact.Form] = [.signedReceipt, .inApp, .latestReceiptInfo]
        let form = forms[Int.random(in: 0...2, using: &generator)]
        let charges = (0..<Int.random(in: 1...3, using: &generator)).map { _ in makeCharge(tokens, using: &generator) }
        let receipts = charges.map { charge in
            charge.receipt(form, onDay: day, isUpgraded: charge.revocationDay != nil && Bool.random(using: &generator))
        }
        let user = Bool.random(using: &generator) ? "user-\(Int.random(in: 0...2, using: &generator))" : nil
        let named = Bool.random(using: &generator) ? charges[0].id : nil
        let delay = Double.random(in: 0...4, using: &generator)
        return .receipt(
            receipts,
            postedBy: user,
            naming: named,
            onDay: charges[0].purchaseDay + delay,
            eventID: Int64.random(in: 10...19, using: &generator)
        )
    }

    private func makeCharge(_ tokens: [UUID], using generator: inout SeededGenerator) -> Facts.Charge {
        let day = Double(Int.random(in: 0...5, using: &generator) * 30)
        var charge = Facts.Charge("\(1000 + Int.random(in: 0...5, using: &generator))", onDay: day)
        // The constants of a charge are a function of its id.
        let seed = Int(charge.id) ?? 0
        charge.contract = seed.isMultiple(of: 2) ? "1000" : "1001"
        (charge.purchaseDay, charge.expiresDay) = (Double(seed % 4) * 30, Double(seed % 4) * 30 + 30)
        charge.lineItem = "5\(seed / 2)"
        charge.signedDay = charge.purchaseDay + Double(Int.random(in: 0...3, using: &generator))
        charge.token = Bool.random(using: &generator) ? tokens.randomElement(using: &generator) : nil
        charge.product = Int.random(in: 0...4, using: &generator) == 0 ? "other" : "pro.monthly"
        charge.revocationDay = Int.random(in: 0...4, using: &generator) == 0 ? charge.signedDay : nil
        if seed == 1005 { (charge.type, charge.contract, charge.lineItem, charge.expiresDay) = (.consumable, charge.id, nil, nil) }
        return charge
    }

    private func play(_ steps: [Step], split: Int) async throws -> [String] {
        var state: [String] = []
        try await LedgerFixture.with { ledger in
            var batch: [EventFacts] = []
            for step in steps {
                switch step {
                case .charge(let charge): batch += try ledger.events([charge])
                case .renewal(let renewal): batch += try ledger.events([], [renewal])
                case .post(let charge, let user, let day, let eventID):
                    batch.append(try ledger.posted(charge, by: user, onDay: day, eventID: eventID))
                case .refund(let statement):
                    batch.append(Facts.event(Int64.random(in: 1...(.max)), refundStatement: statement))
                case .receipt(let receipts, let user, let named, let day, let eventID):
                    batch.append(ledger.receipt(receipts, postedBy: user, naming: named, onDay: day, eventID: eventID))
                case .legacyRenewal(let renewal):
                    batch.append(Facts.receiptEvent(Int64.random(in: 1...(.max)), renewals: [renewal]))
                case .order(let no, let user):
                    try await ledger.merge(batch)
                    batch = []
                    try await ledger.createOrder(no, user: user)
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

    @Test(arguments: [UInt64.random(in: 0...UInt64.max), UInt64.random(in: 0...UInt64.max), 1, 2, 3, 4])
    func `any order, repetition and batching of facts and commands gives the same ledger`(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<6 {
            let steps = try makeSteps(using: &generator)
            let expected = try await play(steps, split: 1)
            for split in [1, 3, 100] {
                let repeated = steps.filter { if case .link = $0 { false } else { Bool.random(using: &generator) } }
                let again = (steps + repeated).shuffled(using: &generator)
                let state = try await play(again, split: split)
                #expect(state == expected, "seed \(seed), split \(split)")
                if state != expected { return }
            }
        }
    }

    /// When JWS and receipt contradict each other about a charge's contract, the JWS counts, and the receipt's rows are removed.
    @Test(arguments: [Facts.Charge("1005", onDay: 0), Facts.Charge("1005", onDay: 0).with { $0.ownership = .familyShared }])
    func `a charge that moves to another contract leaves no rows behind`(charge: Facts.Charge) async throws {
        let elsewhere = charge.with { $0.contract = "2000" }
        let token = UUID()
        let renewal = Facts.Charge("1006", onDay: 30).with { $0.contract = "2000" }
        func receipt(_ eventID: Int64, postedBy user: String?) -> Step {
            .receipt([elsewhere.receipt(.signedReceipt, onDay: 1)], postedBy: user, naming: "1005", onDay: 1, eventID: eventID)
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
        for _ in 0..<20 {
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

    @Test func `concurrent batches about the same contracts neither fail nor differ`() async throws {
        try await LedgerFixture.with { ledger in
            let charges = (0..<40).map { number in
                Facts.Charge("\(2000 + number)", onDay: Double(number)).with { $0.contract = "\(1000 + number % 5)" }
            }
            try await withThrowingTaskGroup { group in
                for _ in 0..<4 {
                    let events = try ledger.events(charges.shuffled())
                    group.addTask { try await ledger.merge(events) }
                }
                try await group.waitForAll()
            }
            #expect(try await ledger.orders().count == 40)
            #expect(try await ledger.contracts().count == 5)
        }
    }
}
