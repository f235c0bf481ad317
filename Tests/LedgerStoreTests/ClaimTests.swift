import AppStore
import FoundationEssentials
import InboxTesting
import Ledger
import LedgerTesting
import Postgres
import Testing

/// Who owns a contract, where orders alone do not say it: tokens that change, posts of clients, commands of operators.
struct ClaimTests {
    let first = UUID()
    let second = UUID()
    let charge = Facts.Charge("1000", onDay: 0)

    @Test(arguments: [true, false])
    func `a token that changes later is a claim, and pays nothing`(orderFirst: Bool) async throws {
        try await Books.with { books in
            try await books.createOrder(first, user: "anna")
            if orderFirst { try await books.createOrder(second, user: "berta") }
            try await books.merge(Facts.Charge("1000", onDay: 0, token: first))
            try await books.merge(Facts.Charge("1000", onDay: 0, token: second).with { $0.signedDay = 4 })
            if !orderFirst { try await books.createOrder(second, user: "berta") }
            #expect(try await books.orders() == ["- berta pending token", "1000 anna paid token"])
            #expect(try await books.claims() == ["1000 order anna 0", "1000 token berta 0"])
            #expect(try await books.contracts() == ["1000 berta 1000 30"])
        }
    }

    @Test func `a later token that no order of the shop's has is no claim`() async throws {
        try await Books.with { books in
            try await books.createOrder(first, user: "anna")
            try await books.merge(Facts.Charge("1000", onDay: 0, token: second).with { $0.signedDay = 4 })
            try await books.merge(Facts.Charge("1000", onDay: 0, token: first))
            #expect(try await books.claims() == ["1000 order anna 0"])
            #expect(try await books.orders() == ["1000 anna paid token"])
        }
    }

    @Test(arguments: [(3.0, nil), (3.00001, .unknown), (-1, nil)] as [(Double, OwnershipDoubt?)])
    func `who posts a charge without token within 72 hours owns it`(day: Double, doubt: OwnershipDoubt?) async throws {
        try await Books.with { books in
            let answer = try await books.submit(charge, by: "anna", onDay: day)
            #expect(answer == doubt)
            let owner = doubt == nil ? "anna" : "-"
            #expect(try await books.contracts() == ["1000 \(owner) 1000 30"])
            #expect(try await books.orders() == ["1000 \(owner) paid period"])
        }
    }

    @Test(arguments: [true, false])
    func `of two who post it the first one by arrival owns it, whichever is processed first`(inOrder: Bool) async throws {
        try await Books.with { books in
            let posts = [("anna", 1.0, 1 as Int64), ("berta", 2, 2)]
            for (user, day, eventID) in inOrder ? posts : posts.reversed() {
                try await books.submit(charge, by: user, onDay: day, eventID: eventID)
            }
            #expect(try await books.contracts() == ["1000 anna 1000 30"])
            #expect(try await books.submit(charge, by: "berta", onDay: 2, eventID: 2) == .conflict)
            #expect(try await books.submit(charge, by: "anna", onDay: 2, eventID: 3) == nil)
        }
    }

    @Test func `two who post it in one batch each get their own answer`() async throws {
        try await Books.with { books in
            let events = [
                try books.posted(charge, by: "berta", onDay: 2, eventID: 1),
                try books.posted(charge, by: "anna", onDay: 1, eventID: 2),
            ]
            let (fold, answer) = (BatchFold(events), try await books.merge(events))
            #expect(events.map { fold.ownershipDoubt(of: $0, after: answer) } == [.conflict, nil])
            #expect(events.map { fold.result(of: $0, after: answer) } == [.applied, .applied])
        }
    }

    @Test func `a token's order owns, whoever posts the charge`() async throws {
        try await Books.with { books in
            try await books.createOrder(first, user: "anna")
            let charge = Facts.Charge("1000", onDay: 0, token: first)
            #expect(try await books.submit(charge, by: "berta", onDay: 0) == .conflict)
            #expect(try await books.submit(charge, by: "anna", onDay: 0, eventID: 2) == nil)
            #expect(try await books.claims() == ["1000 order anna 0"])
        }
    }

    @Test func `a token whose order nobody made yet makes the charge nobody's`() async throws {
        try await Books.with { books in
            let charge = Facts.Charge("1000", onDay: 0, token: first)
            #expect(try await books.submit(charge, by: "berta", onDay: 0) == .unknown)
            try await books.createOrder(first, user: "anna")
            #expect(try await books.contracts() == ["1000 anna 1000 30"])
            #expect(try await books.submit(charge, by: "berta", onDay: 0) == .conflict)
        }
    }

    @Test func `a post never overrides an owner that there was before its purchase`() async throws {
        try await Books.with { books in
            try await books.createOrder(first, user: "anna")
            try await books.merge(Facts.Charge("1000", onDay: 0, token: first))
            #expect(try await books.submit(Facts.Charge("1001", onDay: 30), by: "berta", onDay: 30) == .conflict)
            #expect(try await books.orders() == ["1000 anna paid token", "1001 anna paid period"])
        }
    }

    @Test func `who posted an offer code's purchase keeps that period when somebody else buys later`() async throws {
        try await Books.with { books in
            try await books.submit(charge, by: "anna", onDay: 0)
            try await books.createOrder(second, user: "berta")
            try await books.merge(Facts.Charge("1001", onDay: 60, token: second))
            #expect(try await books.orders() == ["1000 anna paid period", "1001 berta paid token"])
            #expect(try await books.contracts() == ["1000 berta 1001 90"])
            #expect(try await books.claims() == ["1000 client anna 0", "1000 order berta 60"])
            #expect(try await books.submit(charge, by: "anna", onDay: 70, eventID: 2) == nil, "the charge is hers, the contract is not")
        }
    }

    @Test func `an operator's link holds from the time of the command`() async throws {
        try await Books.with { books in
            try await books.createOrder(first, user: "anna")
            try await books.merge(Facts.Charge("1000", onDay: 0, token: first), Facts.Charge("1001", onDay: 30, token: first))
            try await books.link("1000", to: "berta", onDay: 40)
            try await books.merge(Facts.Charge("1002", onDay: 60, token: first))
            #expect(
                try await books.orders() == ["1000 anna paid token", "1001 anna paid period", "1002 berta paid period"]
            )
            #expect(try await books.contracts() == ["1000 berta 1002 90"])
            #expect(try await books.submit(Facts.Charge("1002", onDay: 60, token: first), by: "anna", onDay: 60) == .conflict)
        }
    }

    @Test(arguments: [["anna", "berta"], ["berta", "anna"]])
    func `of two links of one instant both are kept, and the later command counts`(users: [String]) async throws {
        try await Books.with { books in
            try await books.merge(charge)
            for user in users { try await books.link("1000", to: user, onDay: 40) }
            #expect(try await books.database.lines("SELECT user_id FROM appstore.owner_links ORDER BY link_id") == users)
            #expect(try await books.claims() == ["1000 link \(users[1]) 40"])
            #expect(try await books.contracts() == ["1000 \(users[1]) 1000 30"])
        }
    }

    @Test func `what nobody owned is the linked user's from the beginning`() async throws {
        try await Books.with { books in
            try await books.merge(charge)
            try await books.link("1000", to: "anna", onDay: 40)
            #expect(try await books.orders() == ["1000 anna paid period"])
        }
    }

    @Test func `a family member's contract pays no order, and can be posted or linked`() async throws {
        try await Books.with { books in
            let shared = charge.with { $0.ownership = .familyShared }
            #expect(try await books.submit(shared, by: "carla", onDay: 1) == nil)
            #expect(try await books.contracts() == ["1000 carla 1000 30"])
            try await books.link("1000", to: "dora", onDay: 5)
            #expect(try await books.contracts() == ["1000 dora 1000 30"])
            #expect(try await books.orders() == [])
        }
    }

    @Test func `a family member's token is no claim`() async throws {
        try await Books.with { books in
            try await books.createOrder(first, user: "anna")
            try await books.merge(Facts.Charge("1000", onDay: 0, token: first).with { $0.ownership = .familyShared })
            #expect(try await books.claims() == [])
            #expect(try await books.orders() == ["- anna pending token"])
        }
    }

    @Test func `a consumable can be posted, and gives no access`() async throws {
        try await Books.with { books in
            let coins = Facts.Charge(product: "coins", "1000", type: .consumable, onDay: 0)
            let answer = try await books.submit(coins, by: "anna", onDay: 1)
            #expect(answer == nil)
            #expect(try await books.orders() == ["1000 anna paid period"])
            #expect(try await books.contracts() == ["1000 anna 1000"])
            #expect(try await books.submit(coins, by: "berta", onDay: 2, eventID: 2) == .conflict)
        }
    }

    @Test func `a post in the sandbox claims nothing in Production`() async throws {
        try await Books.with { books in
            try await books.merge(charge)
            try await books.submit(charge.with { $0.environment = .sandbox }, by: "anna", onDay: 0)
            #expect(try await books.contracts() == ["1000 - 1000 30"])
            #expect(try await books.contracts("Sandbox") == ["1000 anna 1000 30"])
        }
    }

    @Test(arguments: [true, false])
    func `a token that turns up for a posted charge takes it back, whichever comes first`(postFirst: Bool) async throws {
        try await Books.with { books in
            try await books.createOrder(first, user: "anna")
            let named = Facts.Charge("1000", onDay: 0, token: first).with { $0.signedDay = 4 }
            if postFirst {
                #expect(try await books.submit(charge, by: "berta", onDay: 1) == nil)
                try await books.merge(named)
            } else {
                try await books.merge(named)
                #expect(try await books.submit(charge, by: "berta", onDay: 1) == .conflict)
            }
            #expect(try await books.claims() == ["1000 order anna 0"])
            #expect(try await books.orders() == ["1000 anna paid token"])
        }
    }
}
