import HTTPServingTesting
import InboxTesting
import Postgres
import StrictJSON
import Testing

/// Entitlements, subscriptions and owners.
@Suite(.timeLimit(.minutes(2)))
struct ContractTests {
    @Test func `a contract is returned, with its owner once linked`() async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey()
            try await api.database.addCharge("70")
            let before = try await api.exchange("GET", "/v1/subscriptions/70", key: key).json()
            #expect((before["user"], before["product"]?.text) == (.null, "pro.monthly"))
            #expect((before["active"], before["environment"]?.text) == (.bool(true), "Production"))
            #expect(before["until"]?.text?.hasSuffix("Z") == true)
            let link = try await api.exchange("PUT", "/v1/contracts/70/owner", key: key, json: #"{"user":"ann"}"#)
            #expect(link.status == 200)
            #expect(try link.json()["user"]?.text == "ann")
            #expect(try await api.exchange("GET", "/v1/subscriptions/70", key: key).json()["user"]?.text == "ann")
            let links = try await api.database.lines("SELECT user_id || ' ' || actor || ' ' || note FROM appstore.owner_links")
            #expect(links == ["ann appstore_api key \(key.id)"])
        }
    }

    @Test func `seats and the commitment of a contract are returned`() async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey()
            for contract in ["70", "71", "72"] {
                try await api.database.addCharge(contract)
                try await api.database.change("SELECT appstore.link_owner('Production', \(contract), 'ann')")
            }
            try await api.database.change(
                """
                UPDATE appstore.transactions SET quantity = 5, multi_seat_info = '{"invitationManagement": "DEVELOPER", "revokedSeatQuantity": 2}'
                WHERE transaction_id = '70'
                """
            )
            try await api.database.change(
                """
                UPDATE appstore.transactions SET currency = 'EUR', commitment_info = '{"billingPeriodNumber": 3, "totalBillingPeriods": 12,
                    "commitmentExpiresDate": 1798761600000, "commitmentPrice": 60000}' WHERE transaction_id = '71'
                """
            )
            try await api.database.change("SELECT appstore.derive_ledger('Production', '{70,71}', '{70,71}')")
            let seats = try JSONParser().parse(
                Array(#"{"added":0,"bought":5,"revoked":2,"renewing":null,"invitations":"DEVELOPER"}"#.utf8)
            )
            let commitment = try JSONParser().parse(
                Array(#"{"until":"2027-01-01T00:00:00.000Z","paymentsLeft":9,"willRenew":null,"price":60000,"currency":"EUR"}"#.utf8)
            )
            for (contract, shown) in [("70", (seats, JSONValue.null)), ("71", (.null, commitment)), ("72", (.null, .null))] {
                let json = try await api.exchange("GET", "/v1/subscriptions/\(contract)", key: key).json()
                #expect((json["seats"], json["commitment"]) == (shown.0, shown.1))
            }
            let entitlements = try await api.exchange("GET", "/v1/users/ann/entitlements", key: key).json()["entitlements"]?.elements ?? []
            #expect(entitlements.map { $0["seats"] } == [seats, .null, .null])
            #expect(entitlements.map { $0["commitmentUntil"]?.text } == [nil, "2027-01-01T00:00:00.000Z", nil])
        }
    }

    @Test(arguments: ["71", "70%00", "%20"])
    func `an unknown contract is not found`(contract: String) async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey()
            try await api.database.addCharge("70")
            #expect(try await api.exchange("GET", "/v1/subscriptions/\(contract)", key: key).problem == "no-such-contract")
            let link = try await api.exchange("PUT", "/v1/contracts/\(contract)/owner", key: key, json: #"{"user":"ann"}"#)
            #expect((link.status, link.problem) == (404, "no-such-contract"))
            #expect(try await api.exchange("GET", "/v1/subscriptions/70?environment=Sandbox", key: key).status == 404)
        }
    }

    @Test(arguments: [
        "ann", "a/b", "a%2Fb", "Zoë", "a+b c", "%", "日本", String(repeating: "x", count: 255), "auth0|5f7c8ec7c33c6c004bbafe82",
        "x@example.com", "..", "user?x=1", "a#b", "0", "null", "e\u{301}", "a\tb", " lead", "a;b,c", "a'b\"c",
    ])
    func `a user in the path is decoded once`(user: String) async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey()
            try await api.database.addCharge("70")
            try await api.database.change("SELECT appstore.link_owner('Production', '70', \(user))")
            let encoded = user.utf8.map { byte in
                let digits = String(byte, radix: 16)
                return "%" + (digits.count == 1 ? "0" : "") + digits
            }.joined()
            let json = try await api.exchange("GET", "/v1/users/\(encoded)/entitlements", key: key).json()
            // As bytes: two spellings of one letter are two users.
            #expect(json["user"]?.text.map { Array($0.utf8) } == Array(user.utf8))
            #expect(json["entitlements"]?.elements.count == 1)
        }
    }

    @Test func `an invalid user is refused`() async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey()
            for user in [String(repeating: "x", count: 256), "a%00b"] {
                let answer = try await api.exchange("GET", "/v1/users/\(user)/entitlements", key: key)
                #expect((answer.status, answer.problem) == (400, "invalid-parameter"))
                #expect(try answer.json()["parameter"]?.text == "user")
            }
            for user in ["%", "%f", "%zz", "%ff", "a%c3"] {
                let answer = try await api.exchange("GET", "/v1/users/\(user)/entitlements", key: key)
                #expect((answer.status, answer.problem) == (400, "malformed-path"), "\(user)")
            }
            #expect(try await api.exchange("GET", "/v1/users//entitlements", key: key).problem == "not-found")
        }
    }

    @Test func `an unknown user has no entitlements`() async throws {
        try await RunningAPI.run { api in
            let answer = try await api.exchange("GET", "/v1/users/unknown/entitlements", key: try await api.makeKey())
            #expect(answer.status == 200)
            #expect(try answer.json()["entitlements"] == .array([]))
            #expect(answer.headers["cache-control"] == "no-store")
        }
    }

    @Test func `a purchase that does not expire has no end`() async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey()
            try await api.database.addCharge("70")
            try await api.database.withConnection { connection in
                try await connection.execute(
                    "UPDATE appstore.transactions SET product_type = 'Non-Consumable', is_subscription = false, expires_date = NULL"
                )
                try await connection.execute("SELECT appstore.derive_ledger('Production', ARRAY['70'], ARRAY['70'])")
                try await connection.execute("SELECT appstore.link_owner('Production', '70', 'ann')")
            }
            let json = try await api.exchange("GET", "/v1/users/ann/entitlements", key: key).json()
            #expect(json["entitlements"]?.elements.map { $0["active"] } == [.bool(true)])
            #expect(json["entitlements"]?.elements.map { $0["until"] } == [.null])
            let contract = try await api.exchange("GET", "/v1/subscriptions/70", key: key).json()
            #expect((contract["active"], contract["until"]) == (.bool(true), .null))
        }
    }
}
