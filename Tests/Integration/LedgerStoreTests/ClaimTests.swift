import AppStore
import FoundationEssentials
import InboxTesting
import Ledger
import LedgerTesting
import Postgres
import Testing

/// The owner of a contract, where orders alone do not decide it: changing tokens, clients' posts, operators' commands.
struct ClaimTests {
    let first = UUID()
    let second = UUID()
    let charge = Facts.Charge("1000", onDay: 0)

    @Test(arguments: [true, false])
    func `a token that changes later is a claim, and pays no order`(orderFirst: Bool) async throws {
        try await LedgerFixture.with { ledger in
            try await ledger.createOrder(first, user: "anna")
            if orderFirst { try await ledger.createOrder(second, user: "berta") }
            try await ledger.merge(Facts.Charge("1000", onDay: 0, token: first))
            try await ledger.merge(Facts.Charge("1000", onDay: 0, token: second).with { $0.signedDay = 4 })
            if !orderFirst { try await ledger.createOrder(second, user: "berta") }
            #expect(try await ledger.orders() == ["- berta pending token", "1000 anna paid token"])
            #expect(try await ledger.claims() == ["1000 order anna 0", "1000 token berta 0"])
            #expect(try await ledger.contracts() == ["1000 berta 1000 30"])
        }
    }

    @Test(
        arguments: [(3, "client anna 0"), (4, "restored anna 4"), (-1, "client anna 0")] as [(day: Double, claim: String)],
        [true, false]
    )
    func `a user who posts a charge owns it, within 72 hours from the purchase, later from the post`(
        post: (day: Double, claim: String),
        hasToken: Bool
    ) async throws {
        try await LedgerFixture.with { ledger in
            let charge = charge.with { $0.token = hasToken ? first : nil }
            #expect(try await ledger.submit(charge, by: "anna", onDay: post.day) == nil)
            #expect(try await ledger.claims() == ["1000 \(post.claim)"])
            #expect(try await ledger.contracts() == ["1000 anna 1000 30"])
            #expect(try await ledger.orders() == ["1000 anna paid \(hasToken ? "token" : "period")"])
            let numbers = try await ledger.database.lines("SELECT transaction_id FROM appstore.user_orders WHERE user_id = 'anna'")
            #expect(numbers == ["1000"])
            #expect(try await ledger.submit(charge, by: "berta", onDay: 6, eventID: 2) == .conflict)
            #expect(try await ledger.unmatched() == ["1000 owner_conflict link_owner berta"])
        }
    }

    @Test func `a late post claims nothing from an owner, and what an order did not pay`() async throws {
        try await LedgerFixture.with { ledger in
            try await ledger.createOrder(first, user: "anna", product: "coins")
            let coins = Facts.Charge(product: "coins", "2000", type: .consumable, onDay: 0, token: first)
            let again = Facts.Charge(product: "coins", "2001", type: .consumable, onDay: 1, token: first)
            try await ledger.merge(coins, again)
            #expect(try await ledger.submit(coins, by: "berta", onDay: 9) == .conflict)
            #expect(try await ledger.submit(again, by: "anna", onDay: 9, eventID: 2) == nil)
            #expect(try await ledger.orders() == ["2000 anna paid token", "2001 anna paid period"])
        }
    }

    @Test func `an order that is made after the post has its own user`() async throws {
        try await LedgerFixture.with { ledger in
            #expect(try await ledger.submit(charge.with { $0.token = first }, by: "berta", onDay: 5) == nil)
            try await ledger.createOrder(first, user: "anna")
            #expect(try await ledger.claims() == ["1000 order anna 0"])
            #expect(try await ledger.orders() == ["1000 anna paid token"])
        }
    }

    @Test(arguments: [true, false])
    func `of two users who post a charge, the first to post owns it, in any order of processing`(inOrder: Bool) async throws {
        try await LedgerFixture.with { ledger in
            let posts = [("anna", 1.0, 1 as Int64), ("berta", 2, 2)]
            for (user, day, eventID) in inOrder ? posts : posts.reversed() {
                try await ledger.submit(charge, by: user, onDay: day, eventID: eventID)
            }
            #expect(try await ledger.contracts() == ["1000 anna 1000 30"])
            #expect(try await ledger.submit(charge, by: "berta", onDay: 2, eventID: 2) == .conflict)
            #expect(try await ledger.submit(charge, by: "anna", onDay: 2, eventID: 3) == nil)
        }
    }

    @Test func `two users who post a charge in one batch get different results`() async throws {
        try await LedgerFixture.with { ledger in
            let events = [
                try ledger.posted(charge, by: "berta", onDay: 2, eventID: 1),
                try ledger.posted(charge, by: "anna", onDay: 1, eventID: 2),
            ]
            let (fold, answer) = (BatchFold(events), try await ledger.merge(events))
            #expect(events.map { fold.ownershipDoubt(of: $0, after: answer) } == [.conflict, nil])
            #expect(events.map { fold.result(of: $0, after: answer) } == [.applied, .applied])
        }
    }

    @Test func `the user of the token's order owns the charge, whichever user posts it`() async throws {
        try await LedgerFixture.with { ledger in
            try await ledger.createOrder(first, user: "anna")
            let charge = Facts.Charge("1000", onDay: 0, token: first)
            #expect(try await ledger.submit(charge, by: "berta", onDay: 0) == .conflict)
            #expect(try await ledger.submit(charge, by: "anna", onDay: 0, eventID: 2) == nil)
            #expect(try await ledger.claims() == ["1000 order anna 0"])
        }
    }

    @Test func `a charge whose token has no order yet belongs to the posting user until the order is made`() async throws {
        try await LedgerFixture.with { ledger in
            let charge = Facts.Charge("1000", onDay: 0, token: first)
            #expect(try await ledger.submit(charge, by: "berta", onDay: 0) == nil)
            try await ledger.createOrder(first, user: "anna")
            #expect(try await ledger.contracts() == ["1000 anna 1000 30"])
            #expect(try await ledger.submit(charge, by: "berta", onDay: 0) == .conflict)
        }
    }

    @Test func `a post never replaces an owner from before the purchase`() async throws {
        try await LedgerFixture.with { ledger in
            try await ledger.createOrder(first, user: "anna")
            try await ledger.merge(Facts.Charge("1000", onDay: 0, token: first))
            #expect(try await ledger.submit(Facts.Charge("1001", onDay: 30), by: "berta", onDay: 30) == .conflict)
            #expect(try await ledger.orders() == ["1000 anna paid token", "1001 anna paid period"])
        }
    }

    @Test func `a user who posted an offer code's purchase keeps that period when another user buys later`() async throws {
        try await LedgerFixture.with { ledger in
            try await ledger.submit(charge, by: "anna", onDay: 0)
            try await ledger.createOrder(second, user: "berta")
            try await ledger.merge(Facts.Charge("1001", onDay: 60, token: second))
            #expect(try await ledger.orders() == ["1000 anna paid period", "1001 berta paid token"])
            #expect(try await ledger.contracts() == ["1000 berta 1001 90"])
            #expect(try await ledger.claims() == ["1000 client anna 0", "1000 order berta 60"])
            #expect(try await ledger.submit(charge, by: "anna", onDay: 70, eventID: 2) == nil, "the charge is hers, the contract is not")
        }
    }

    @Test func `an operator's link holds from the time of the command`() async throws {
        try await LedgerFixture.with { ledger in
            try await ledger.createOrder(first, user: "anna")
            try await ledger.merge(Facts.Charge("1000", onDay: 0, token: first), Facts.Charge("1001", onDay: 30, token: first))
            try await ledger.link("1000", to: "berta", onDay: 40)
            try await ledger.merge(Facts.Charge("1002", onDay: 60, token: first))
            #expect(
                try await ledger.orders() == ["1000 anna paid token", "1001 anna paid period", "1002 berta paid period"]
            )
            #expect(try await ledger.contracts() == ["1000 berta 1002 90"])
            #expect(try await ledger.submit(Facts.Charge("1002", onDay: 60, token: first), by: "anna", onDay: 60) == .conflict)
        }
    }

    @Test(arguments: [["anna", "berta"], ["berta", "anna"]])
    func `two links of the same instant are both kept, and the later command counts`(users: [String]) async throws {
        try await LedgerFixture.with { ledger in
            try await ledger.merge(charge)
            for user in users { try await ledger.link("1000", to: user, onDay: 40) }
            #expect(try await ledger.database.lines("SELECT user_id FROM appstore.owner_links ORDER BY link_id") == users)
            #expect(try await ledger.claims() == ["1000 link \(users[1]) 40"])
            #expect(try await ledger.contracts() == ["1000 \(users[1]) 1000 30"])
        }
    }

    @Test func `a family member's contract pays no order, and can be posted or linked`() async throws {
        try await LedgerFixture.with { ledger in
            let shared = charge.with { $0.ownership = .familyShared }
            #expect(try await ledger.submit(shared, by: "berta", onDay: 3.1, eventID: 2) == .unknown)
            #expect(try await ledger.submit(shared, by: "carla", onDay: 1) == nil)
            #expect(try await ledger.contracts() == ["1000 carla 1000 30"])
            try await ledger.link("1000", to: "dora", onDay: 5)
            #expect(try await ledger.contracts() == ["1000 dora 1000 30"])
            #expect(try await ledger.orders() == [])
        }
    }

    @Test func `a consumable can be posted, and gives no access`() async throws {
        try await LedgerFixture.with { ledger in
            let coins = Facts.Charge(product: "coins", "1000", type: .consumable, onDay: 0)
            let answer = try await ledger.submit(coins, by: "anna", onDay: 1)
            #expect(answer == nil)
            #expect(try await ledger.orders() == ["1000 anna paid period"])
            #expect(try await ledger.contracts() == ["1000 anna 1000"])
            #expect(try await ledger.submit(coins, by: "berta", onDay: 2, eventID: 2) == .conflict)
        }
    }

    @Test(arguments: [true, false])
    func `a token of a posted charge replaces the posting user, in either order`(postFirst: Bool) async throws {
        try await LedgerFixture.with { ledger in
            try await ledger.createOrder(first, user: "anna")
            let named = Facts.Charge("1000", onDay: 0, token: first).with { $0.signedDay = 4 }
            if postFirst {
                #expect(try await ledger.submit(charge, by: "berta", onDay: 1) == nil)
                try await ledger.merge(named)
            } else {
                try await ledger.merge(named)
                #expect(try await ledger.submit(charge, by: "berta", onDay: 1) == .conflict)
            }
            #expect(try await ledger.claims() == ["1000 order anna 0"])
            #expect(try await ledger.orders() == ["1000 anna paid token"])
        }
    }
}
