import AppStore
import FoundationEssentials
import InboxTesting
import Ledger
import LedgerTesting
import Postgres
import Testing

/// Tokens that mean a user, which the app gives for each purchase.
struct UserTokenTests {
    let token = UUID()
    let other = UUID()

    private var purchases: [Facts.Charge] {
        [
            Facts.Charge("1000", onDay: 0, token: token), Facts.Charge("1001", onDay: 30, token: token),
            Facts.Charge(product: "coins", "2000", type: .consumable, onDay: 1, token: token),
            Facts.Charge(product: "coins", "2001", type: .consumable, onDay: 2, token: token),
            Facts.Charge(product: "lifetime", "3000", type: .nonConsumable, onDay: 3, token: token),
        ]
    }

    @Test(arguments: [true, false])
    func `every purchase with a user's token is the user's, whether the token is set before or after`(isSetFirst: Bool) async throws {
        try await LedgerFixture.with { ledger in
            if isSetFirst { try await ledger.setToken(token, of: "anna") }
            for charge in purchases { try await ledger.merge(charge) }
            if !isSetFirst {
                let unmatched = try await ledger.unmatched()
                #expect(unmatched.count == 4 && unmatched.allSatisfy { $0.contains("set_user_token") }, "\(unmatched)")
                try await ledger.setToken(token, of: "anna")
            }
            #expect(try await ledger.orders() == ["1000", "1001", "2000", "2001", "3000"].map { "\($0) anna paid period" })
            #expect(try await ledger.database.lines("SELECT user_id FROM appstore.contracts") == ["anna", "anna"])
            #expect(try await ledger.claims() == ["1000 token anna 0", "2000 token anna 1", "2001 token anna 2", "3000 token anna 3"])
            #expect(try await ledger.unmatched() == [])
        }
    }

    @Test func `a token counts in the Sandbox, too`() async throws {
        try await LedgerFixture.with { ledger in
            for id in ["1000", "2000"] {
                try await ledger.merge(Facts.Charge(id, onDay: 0, token: token).with { ($0.contract, $0.environment) = (id, .sandbox) })
                try await ledger.setToken(token, of: "anna")
            }
            #expect(try await ledger.orders("Sandbox") == ["1000 anna paid period", "2000 anna paid period"])
            #expect(try await ledger.orders() == [])
        }
    }

    @Test func `a purchase with another user's token moves the contract, and a renewal does not`() async throws {
        try await LedgerFixture.with { ledger in
            try await ledger.setToken(token, of: "anna")
            try await ledger.setToken(other, of: "berta")
            for (month, token) in [token, token, other, other, token].enumerated() {
                try await ledger.merge(Facts.Charge("\(1000 + month)", onDay: Double(30 * month), token: token))
            }
            #expect(try await ledger.claims() == ["1000 token anna 0", "1000 token berta 60", "1000 token anna 120"])
            let users = ["anna", "anna", "berta", "berta", "anna"]
            #expect(try await ledger.orders() == users.enumerated().map { "\(1000 + $0.offset) \($0.element) paid period" })
        }
    }

    @Test func `a link holds although renewals repeat the token`() async throws {
        try await LedgerFixture.with { ledger in
            try await ledger.setToken(token, of: "anna")
            try await ledger.merge(Facts.Charge("1000", onDay: 0, token: token))
            try await ledger.link("1000", to: "berta", onDay: 10)
            try await ledger.merge(Facts.Charge("1001", onDay: 30, token: token))
            #expect(try await ledger.contracts() == ["1000 berta 1001 60"])
        }
    }

    @Test(arguments: [true, false])
    func `a later token that is a user's claims the contract`(isSetFirst: Bool) async throws {
        try await LedgerFixture.with { ledger in
            if isSetFirst { try await ledger.setToken(other, of: "berta") }
            try await ledger.createOrder(token, user: "anna")
            try await ledger.merge(Facts.Charge("1000", onDay: 0, token: token))
            try await ledger.merge(Facts.Charge("1000", onDay: 0, token: other).with { $0.signedDay = 4 })
            if !isSetFirst { try await ledger.setToken(other, of: "berta") }
            #expect(try await ledger.claims() == ["1000 order anna 0", "1000 token berta 0"])
            #expect(try await ledger.orders() == ["1000 anna paid token"])
            #expect(try await ledger.contracts() == ["1000 berta 1000 30"])
        }
    }

    @Test func `of a charge whose token changes from one user's to another's the later one counts`() async throws {
        try await LedgerFixture.with { ledger in
            try await ledger.setToken(token, of: "anna")
            try await ledger.setToken(other, of: "berta")
            try await ledger.merge(Facts.Charge("1000", onDay: 0, token: token))
            try await ledger.merge(Facts.Charge("1000", onDay: 0, token: other).with { $0.signedDay = 4 })
            #expect(try await ledger.claims() == ["1000 token berta 0"])
        }
    }

    @Test func `a copy of a purchase claims nothing by its token`() async throws {
        try await LedgerFixture.with { ledger in
            try await ledger.setToken(token, of: "anna")
            try await ledger.setToken(other, of: "berta")
            let lifetime = Facts.Charge(product: "lifetime", "3000", type: .nonConsumable, onDay: 0, token: token)
            try await ledger.merge(lifetime, lifetime.with { ($0.id, $0.purchaseDay, $0.token) = ("3001", 10, other) })
            #expect(try await ledger.claims() == ["3000 token anna 0"])
        }
    }

    @Test func `a token is an order's or a user's, and stays it`() async throws {
        try await LedgerFixture.with { ledger in
            try await ledger.createOrder(other, user: "anna")
            try await ledger.setToken(token, of: "anna")
            try await ledger.setToken(token, of: "anna")
            for (token, user, message) in [(token, "berta", "means another user"), (other, "anna", "is the number of an order")] {
                let error = await #expect(throws: PostgresError.self) { try await ledger.setToken(token, of: user) }
                #expect(error?.sqlState?.rawValue == "23505")
                #expect(error?.message.hasSuffix(message) == true)
            }
            let error = await #expect(throws: PostgresError.self) { try await ledger.createOrder(token, user: "anna") }
            #expect(error?.message.hasSuffix("is the token of a user") == true)
            #expect(try await ledger.orders() == ["- anna pending token"])
        }
    }

    @Test func `a version 5 UUID is a token`() async throws {
        try await LedgerFixture.with { ledger in
            let derived = try #require(UUID(uuidString: "317fbd77-7771-5c18-a332-5c9667f421ef"))
            try await ledger.merge(Facts.Charge("1000", onDay: 0, token: derived))
            try await ledger.setToken(derived, of: "anna")
            #expect(try await ledger.orders() == ["1000 anna paid period"])
            let reserved = try #require(UUID(uuidString: "317fbd77-7771-8c18-a332-5c9667f421ef"))
            let error = await #expect(throws: PostgresError.self) { try await ledger.setToken(reserved, of: "anna") }
            #expect(error?.sqlState?.rawValue == "22023")
        }
    }
}

extension LedgerFixture {
    /// As the shop's backend.
    func setToken(_ token: UUID, of user: String) async throws {
        try await database.withConnection(user: "appstore_backend") { connection in
            _ = try await connection.execute("SELECT appstore.set_user_token(\(token), \(user))")
        }
    }

    /// `transaction reason resolution user`.
    func unmatched() async throws -> [String] {
        try await database.lines(
            "SELECT concat_ws(' ', transaction_id, reason, resolution, user_id) FROM appstore.unmatched ORDER BY transaction_id, user_id"
        )
    }
}
