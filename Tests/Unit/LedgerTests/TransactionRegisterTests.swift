import AppStore
import FoundationEssentials
import Ledger
import LedgerTesting
import Randomness
import StrictJSON
import Testing

struct TransactionRegisterTests {
    /// The content of a register, comparable.
    private struct Content: Equatable {
        let version: Version?
        let revocationDate: Timestamp?
        let receiptVersion: Version?
        let receiptContent: ReceiptFact.Content?
        let gathered: [String?]
        let isSubscription: Bool?
        let isStatedByReceipt: Bool
        let firstSignedDate: Timestamp
        let firstToken: TransactionRegister.FirstToken?
        let lasting: [LastingMember: Version]
        let productType: ProductType?
        let periodNumber: UUID?

        init(_ register: TransactionRegister) {
            version = register.signed?.version
            revocationDate = register.signed?.payload.revocationDate
            receiptVersion = register.receipt?.latest.version
            receiptContent = register.receipt?.latest.content
            gathered = [
                register.receipt?.productType?.rawValue, register.receipt?.inAppOwnershipType?.rawValue,
                register.receipt?.subscriptionGroupIdentifier,
            ]
            isSubscription = register.receipt?.isSubscription
            isStatedByReceipt = register.isStatedByReceipt
            firstSignedDate = register.firstSignedDate
            firstToken = register.firstToken
            lasting = register.lasting.mapValues(\.version)
            productType = register.productType
            periodNumber = register.periodNumber
        }
    }

    private func join(_ facts: [TransactionRegister]) throws -> Content {
        var register = try #require(facts.first)
        for fact in facts.dropFirst() { register.join(fact) }
        return Content(register)
    }

    private func join(_ facts: [TransactionFact]) throws -> Content { try join(facts.map { TransactionRegister($0) }) }

    /// A fact of either half. Dates collide on purpose, so that halves and hashes decide. Equal versions have equal payloads, because the
    /// version contains their hash.
    private func makeFact(_ tokens: [UUID?], using generator: inout SeededGenerator) throws -> TransactionRegister {
        let day = Int64.random(in: 1...4, using: &generator)
        let choice = Int.random(in: 0...2, using: &generator)
        if Bool.random(using: &generator) {
            let revocationDate = choice == 1 ? Facts.day(9) : nil
            let number = UInt8.random(in: 0..<16, using: &generator)
            let members = ["price", "type", "inAppOwnershipType", "currency"].enumerated()
            let absent = Set(members.filter { number >> UInt8($0.offset) & 1 == 1 }.map(\.element))
            let hash = UInt8(choice) + number << 2
            return TransactionRegister(
                try Facts.transaction(
                    "1001",
                    signedDate: day,
                    hash: hash,
                    token: tokens[choice],
                    revocationDate: revocationDate,
                    without: absent
                )
            )
        }
        let forms: [ReceiptFact.Form] = [.signedReceipt, .inApp, .latestReceiptInfo]
        let charge = Facts.Charge("1001", onDay: 0, token: tokens[choice]).with { charge in
            charge.revocationDay = choice == 1 ? 9 : nil
            charge.ownership = choice == 2 ? .familyShared : .purchased
        }
        let statedDay = Double(day - Facts.start) / 86_400_000
        let form = forms[Int.random(in: 0...2, using: &generator)]
        return TransactionRegister(charge.receipt(form, onDay: statedDay, isUpgraded: Int.random(in: 0...3, using: &generator) == 0))
    }

    @Test(arguments: [UInt64.random(in: 0...UInt64.max), 1, 2, 3])
    func `order, repetition and grouping of facts change nothing`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let tokens = [nil, UUID(), UUID()]
        for _ in 0..<500 {
            let facts = try (0..<Int.random(in: 1...6, using: &generator)).map { _ in try makeFact(tokens, using: &generator) }
            let expected = try join(facts)
            let again = facts + facts.filter { _ in Bool.random(using: &generator) }
            let shuffled = try join(again.shuffled(using: &generator))
            #expect(shuffled == expected, "seed \(seed)")

            let middle = Int.random(in: 0..<facts.count, using: &generator)
            if middle > 0 {
                var left = facts[0]
                for fact in facts[1..<middle] { left.join(fact) }
                var right = facts[middle]
                for fact in facts[(middle + 1)...] { right.join(fact) }
                right.join(left)
                #expect(Content(right) == expected, "seed \(seed)")
            }
        }
    }

    @Test func `the later half decides the state, and the JWS half on a tie`() throws {
        let charge = Facts.Charge("1001", onDay: 0)
        func isStatedByReceipt(signedDay: Double, receiptDay: Double) throws -> Bool {
            var register = TransactionRegister(try charge.with { $0.signedDay = signedDay }.fact())
            register.join(TransactionRegister(charge.receipt(.signedReceipt, onDay: receiptDay)))
            return register.isStatedByReceipt
        }
        #expect(try !isStatedByReceipt(signedDay: 1, receiptDay: 1))
        #expect(try isStatedByReceipt(signedDay: 1, receiptDay: 2))
        #expect(try !isStatedByReceipt(signedDay: 2, receiptDay: 1))
        #expect(TransactionRegister(charge.receipt(.inApp, onDay: 1)).isStatedByReceipt)
    }

    @Test func `a newer receipt of another form erases neither type nor ownership`() {
        let charge = Facts.Charge("1001", onDay: 0).with { $0.ownership = .familyShared }
        var register = TransactionRegister(charge.receipt(.latestReceiptInfo, onDay: 1))
        register.join(TransactionRegister(charge.receipt(.signedReceipt, onDay: 2)))
        #expect(register.receipt?.latest.content.inAppOwnershipType == nil)
        #expect(register.receipt?.inAppOwnershipType == .familyShared)
        #expect(register.receipt?.productType == .autoRenewableSubscription)
    }

    @Test func `of two receipts of one second, the one with an upgrade wins`() {
        let charge = Facts.Charge("1001", onDay: 0).with { $0.revocationDay = 5 }
        let refund = charge.receipt(.latestReceiptInfo, onDay: 6)
        let upgrade = charge.receipt(.signedReceipt, onDay: 6, isUpgraded: true)
        for pair in [[refund, upgrade], [upgrade, refund]] {
            var register = TransactionRegister(pair[0])
            register.join(TransactionRegister(pair[1]))
            #expect(register.receipt?.latest.content.isUpgraded == true)
        }
    }

    @Test func `a newer fact replaces the older one as a whole, so that a reversal clears the revocation`() throws {
        let refunded = try Facts.transaction("1001", signedDate: 2, revocationDate: Facts.day(9))
        let reversed = try Facts.transaction("1001", signedDate: 3)
        #expect(try join([reversed, refunded]).revocationDate == nil)
        #expect(try join([refunded, reversed]).revocationDate == nil)
    }

    @Test func `a newer JWS without a member that cannot change keeps the newest known one`() throws {
        func fact(_ day: Double, _ price: JSONValue?, _ type: JSONValue?) throws -> TransactionRegister {
            let charge = Facts.Charge("1001", onDay: 0).with { charge in
                charge.signedDay = day
                (charge.members["price"], charge.members["type"]) = (price ?? .null, type ?? .null)
            }
            return TransactionRegister(try charge.fact())
        }
        let facts = [
            try fact(1, 100, "Consumable"), try fact(2, 200, nil), try fact(3, nil, nil), try fact(4, nil, "Non-Consumable"),
        ]
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [3, 0, 2, 1]] {
            var register = facts[order[0]]
            for index in order.dropFirst() { register.join(facts[index]) }
            #expect(register.lasting[.price]?.payload.price == 200)
            #expect(register.productType == .nonConsumable && register.lasting[.productType] == nil)
        }
        var untyped = facts[2]
        untyped.join(TransactionRegister(Facts.Charge("1001", onDay: 0).receipt(.signedReceipt, onDay: 1)))
        #expect(untyped.productType == .autoRenewableSubscription, "no JWS has it")
        untyped.join(facts[0])
        #expect(untyped.productType == .consumable && !untyped.isSubscription)
    }

    @Test func `the type that is known decides which purchase a charge belongs to, whichever fact has it`() throws {
        let copy = Facts.Charge(product: "coins", "1001", type: .consumable, onDay: 0).with { $0.contract = "1000" }
        func number(_ id: String) -> UUID { OrderNumber.ofCharge(environment: .production, transactionID: id) }
        var register = TransactionRegister(try copy.with { ($0.members["type"], $0.signedDay) = (.null, 2) }.fact())
        #expect(register.periodNumber == number("1000"))
        register.join(TransactionRegister(try copy.fact()))
        #expect(register.periodNumber == number("1001"))
        var receipts = TransactionRegister(copy.receipt(.inApp, onDay: 2))
        #expect(receipts.periodNumber == number("1000"))
        receipts.join(TransactionRegister(copy.receipt(.signedReceipt, onDay: 1)))
        #expect(receipts.periodNumber == number("1001"))
    }

    @Test func `a later token does not replace the first one`() throws {
        let (first, later) = (UUID(), UUID())
        let facts = [
            try Facts.transaction("1001", signedDate: 3, token: later), try Facts.transaction("1001", signedDate: 1),
            try Facts.transaction("1001", signedDate: 2, token: first),
        ]
        #expect(try join(facts).firstToken?.token == first)
        #expect(try join(facts).firstSignedDate == Facts.timestamp(1))
    }
}
