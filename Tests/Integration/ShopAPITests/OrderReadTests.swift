import AppStore
import FoundationEssentials
import HTTPServingTesting
import InboxTesting
import Postgres
import StrictJSON
import Testing

/// Orders that are read.
@Suite(.timeLimit(.minutes(2)))
struct OrderReadTests {
    private func order(_ api: RunningAPI, _ key: TestKey, _ product: String = "pro.monthly", app: String? = nil) async throws -> String {
        let named = app.map { #","bundleId":"\#($0)""# } ?? ""
        let json = #"{"user":"ann","product":"\#(product)"\#(named)}"#
        return try await api.exchange("POST", "/v1/orders", key: key, json: json).json()["orderNo"]?.text ?? ""
    }

    @Test func `an order is returned pending and paid, and as it was made`() async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey()
            let made = try await api.exchange("POST", "/v1/orders", key: key, json: #"{"user":"ann","product":"pro.monthly"}"#).json()
            let no = try #require(made["orderNo"]?.text)
            let pending = try await api.exchange("GET", "/v1/orders/\(no.uppercased())", key: key).json()
            #expect(pending == made)
            #expect((pending["status"]?.text, pending["paidAt"], pending["environment"]?.text) == ("pending", .null, "Production"))
            try await api.database.addCharge("70", token: UUID(uuidString: no))
            let paid = try await api.exchange("GET", "/v1/orders/\(no)", key: key).json()
            #expect((paid["status"]?.text, paid["transactionId"]?.text, paid["bundleId"]?.text) == ("paid", "70", "com.example.tides"))
            #expect(paid["orderedAt"] == made["orderedAt"] && paid["paidAt"]?.text?.hasSuffix("Z") == true)
            let again = #"{"user":"ann","product":"pro.monthly","orderNo":"\#(no)"}"#
            #expect(try await api.exchange("POST", "/v1/orders", key: key, json: again).json() == paid)
            #expect(try await api.exchange("GET", "/v1/orders/\(no)?environment=Sandbox", key: key).problem == "no-such-order")
        }
    }

    @Test(arguments: ["6f1c9a52-0d7e-4d7b-9c55-6a2f3a1f8e01", "7", "%00", "6f1c9a52-0d7e-4d7b-9c55-6a2f3a1f8e0"])
    func `an unknown order is not found`(no: String) async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey()
            #expect(try await api.exchange("GET", "/v1/orders/\(no)", key: key).problem == "no-such-order")
        }
    }

    @Test func `an order belongs to the app that sold it, and while it is pending to the one it was made for`() async throws {
        try await RunningAPI.run { api in
            let any = try await api.makeKey()
            let (own, other) = (try await api.makeKey(apps: ["com.example.tides"]), try await api.makeKey(apps: ["com.example.dunes"]))
            let (forAny, forOwn) = (try await order(api, any), try await order(api, own))
            func statuses(_ no: String) async throws -> [Int] {
                var statuses: [Int] = []
                for key in [any, own, other] { statuses.append(try await api.exchange("GET", "/v1/orders/\(no)", key: key).status) }
                return statuses
            }
            func listed(_ key: TestKey) async throws -> Set<String> {
                let list = try await api.exchange("GET", "/v1/users/ann/orders", key: key).json()
                return Set(list["orders"]?.elements.compactMap { $0["orderNo"]?.text } ?? [])
            }
            #expect(try await statuses(forAny) == [200, 404, 404])
            #expect(try await statuses(forOwn) == [200, 200, 404])
            #expect(try await listed(any) == [forAny, forOwn])
            #expect(try await listed(own) == [forOwn])
            try await api.database.addCharge("70", token: UUID(uuidString: forAny))
            #expect(try await statuses(forAny) == [200, 200, 404])
            #expect(try await listed(own) == [forAny, forOwn])
            #expect(try await listed(other) == [])
        }
    }

    @Test func `the orders of a user come newest first, page by page, each once`() async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey()
            var numbers: [String] = []
            for _ in 1...4 { numbers.append(try await order(api, key)) }
            try await api.database.addCharge("70", token: UUID(uuidString: numbers[1]))
            // Two of one instant, and a renewal between them and the others.
            try await api.database.change(
                "UPDATE appstore.token_orders SET ordered_at = '2026-01-01' WHERE order_no::text = ANY (\(Array(numbers[..<2])))"
            )
            try await api.database.change(
                """
                INSERT INTO appstore.transactions (environment, transaction_id, original_transaction_id, bundle_id, product_id, product_type,
                    purchase_date, expires_date, signed_date, first_signed_date, payload_hash, period_no, is_subscription)
                VALUES ('Production', '71', '70', 'com.example.tides', 'pro.monthly', 'Auto-Renewable Subscription', '2026-02-01',
                        '2026-03-01', now(), now(), '\\x01', gen_random_uuid(), true)
                """
            )
            try await api.database.change("SELECT appstore.derive_ledger('Production', ARRAY['71'], ARRAY['70'])")
            let renewal = try await api.database.lines("SELECT order_no::text FROM appstore.orders WHERE transaction_id = '71'")
            let expected = [numbers[3], numbers[2]] + renewal + [numbers[0], numbers[1]].sorted(by: >)
            for limit in [1, 2, 5, 200] {
                var (found, cursor): ([String], String?) = ([], nil)
                repeat {
                    let query = "limit=\(limit)" + (cursor.map { "&cursor=\($0)" } ?? "")
                    let page = try await api.exchange("GET", "/v1/users/ann/orders?\(query)", key: key).json()
                    let orders = page["orders"]?.elements ?? []
                    #expect((1...limit).contains(orders.count))
                    found += orders.compactMap { $0["orderNo"]?.text }
                    cursor = page["next"]?.text
                } while cursor != nil && found.count < 20
                #expect(found == expected, "pages of \(limit)")
            }
        }
    }

    @Test func `the orders of a user are filtered by status, product and environment`() async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey()
            let (paid, pending) = (try await order(api, key), try await order(api, key, "coins"))
            try await api.database.addCharge("70", token: UUID(uuidString: paid))
            try await api.database.addCharge("80", environment: .sandbox, token: UUID(uuidString: paid))
            for (query, expected) in [
                ("", Set([paid, pending])), ("status=paid", [paid]), ("status=pending", [pending]), ("status=refunded", []),
                ("product=coins", [pending]), ("product=pro.monthly&status=pending", []), ("environment=Sandbox", [paid]),
            ] {
                let list = try await api.exchange("GET", "/v1/users/ann/orders?\(query)", key: key).json()
                #expect(Set(list["orders"]?.elements.compactMap { $0["orderNo"]?.text } ?? []) == expected, "\(query)")
            }
            let nobodys = try await api.exchange("GET", "/v1/users/bob/orders", key: key).json()
            #expect((nobodys["orders"], nobodys["next"]) == (.array([]), .null))
        }
    }

    @Test(arguments: [
        ("limit=0", "limit"), ("limit=201", "limit"), ("limit=x", "limit"), ("status=sold", "status"), ("product=", "product"),
        ("cursor=7", "cursor"), ("cursor=-7.6f1c9a52-0d7e-4d7b-9c55-6a2f3a1f8e01", "cursor"),
        ("cursor=999999999999999999.6f1c9a52-0d7e-4d7b-9c55-6a2f3a1f8e01", "cursor"), ("environment=Mars", "environment"),
    ])
    func `an invalid parameter is named`(query: String, parameter: String) async throws {
        try await RunningAPI.run { api in
            let answer = try await api.exchange("GET", "/v1/users/ann/orders?\(query)", key: try await api.makeKey())
            #expect((answer.status, answer.problem) == (400, "invalid-parameter"))
            #expect(try answer.json()["parameter"]?.text == parameter)
        }
    }
}
