import FoundationEssentials
import HTTPServingTesting
import InboxTesting
import Postgres
import Testing

@Suite(.timeLimit(.minutes(2)))
struct OrderTests {
    private static let no = "6f1c9a52-0d7e-4d7b-9c55-6a2f3a1f8e01"
    private static func body(_ user: String = "ann", _ product: String = "pro.monthly", app: String? = nil, no: String? = no) -> String {
        var members = [#""user":"\#(user)""#, #""product":"\#(product)""#]
        if let app { members.append(#""bundleId":"\#(app)""#) }
        if let no { members.append(#""orderNo":"\#(no)""#) }
        return "{" + members.joined(separator: ",") + "}"
    }

    @Test func `an equal order with the same number is the same order`() async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey()
            let first = try await api.exchange("POST", "/v1/orders", key: key, json: Self.body(app: "com.example.tides"))
            #expect(first.status == 201)
            let order = try first.json()
            #expect(order["orderNo"]?.text == Self.no)
            #expect((order["user"]?.text, order["product"]?.text) == ("ann", "pro.monthly"))
            #expect((order["bundleId"]?.text, order["status"]?.text) == ("com.example.tides", "pending"))
            let again = try await api.exchange(
                "POST",
                "/v1/orders",
                key: key,
                json: Self.body(app: "com.example.tides", no: Self.no.uppercased())
            )
            #expect(again.status == 200)
            #expect(try again.json() == order)
            #expect(try await api.database.lines("SELECT order_no || user_id FROM appstore.orders") == [Self.no + "ann"])
        }
    }

    @Test(arguments: [body("bob"), body("ann", "pro.yearly"), body(app: "com.example.tides")])
    func `the number of a different order is a conflict without details`(other: String) async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey()
            #expect(try await api.exchange("POST", "/v1/orders", key: key, json: Self.body()).status == 201)
            let answer = try await api.exchange("POST", "/v1/orders", key: key, json: other)
            #expect((answer.status, answer.problem) == (409, "order-conflict"))
            #expect(!answer.body.contains("ann"))
            #expect(try await api.database.lines("SELECT user_id || product_id FROM appstore.orders") == ["annpro.monthly"])
        }
    }

    @Test func `without a number each order gets a new one`() async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey()
            var numbers: Set<String> = []
            for _ in 1...3 {
                let answer = try await api.exchange("POST", "/v1/orders", key: key, json: Self.body(no: nil))
                #expect(answer.status == 201)
                numbers.insert(try answer.json()["orderNo"]?.text ?? "")
            }
            #expect(numbers.count == 3)
        }
    }

    @Test func `one of many concurrent requests makes the order and the others return it`() async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey()
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 1...12 { group.addTask { try await api.exchange("POST", "/v1/orders", key: key, json: Self.body()).status } }
                return try await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
            }
            #expect(statuses == [201: 1, 200: 11])
        }
    }

    @Test func `the app of an order is an app of the key`() async throws {
        try await RunningAPI.run { api in
            let one = try await api.makeKey(apps: ["com.example.tides"])
            let two = try await api.makeKey(apps: ["com.example.tides", "com.example.dunes"])
            let own = try await api.exchange("POST", "/v1/orders", key: one, json: Self.body(no: nil))
            #expect(try own.json()["bundleId"]?.text == "com.example.tides")
            let unclear = try await api.exchange("POST", "/v1/orders", key: two, json: Self.body(no: nil))
            #expect(unclear.status == 400)
            #expect(try unclear.json()["member"]?.text == "bundleId")
            let named = try await api.exchange("POST", "/v1/orders", key: two, json: Self.body(app: "com.example.dunes", no: nil))
            #expect(named.status == 201)
            let foreign = try await api.exchange("POST", "/v1/orders", key: one, json: Self.body(app: "com.example.dunes", no: nil))
            #expect((foreign.status, foreign.problem) == (403, "app-not-covered"))
        }
    }

    @Test func `an order is paid at once when its purchase arrived before it`() async throws {
        try await RunningAPI.run { api in
            try await api.database.addCharge("70", token: UUID(uuidString: Self.no))
            let answer = try await api.exchange("POST", "/v1/orders", key: try await api.makeKey(), json: Self.body())
            #expect(answer.status == 201)
            #expect(try answer.json()["status"]?.text == "paid")
        }
    }

    struct Mistake: Sendable {
        var json: String
        var problem: String
        var member: String?
    }

    static let mistakes = [
        Mistake(json: #"{"product":"p"}"#, problem: "invalid-member", member: "user"),
        Mistake(json: #"{"user":"a"}"#, problem: "invalid-member", member: "product"),
        Mistake(json: #"{"user":"","product":"p"}"#, problem: "invalid-member", member: "user"),
        Mistake(json: #"{"user":null,"product":"p"}"#, problem: "invalid-member", member: "user"),
        Mistake(json: #"{"user":1,"product":"p"}"#, problem: "invalid-member", member: "user"),
        Mistake(json: #"{"user":"a\u0000","product":"p"}"#, problem: "invalid-member", member: "user"),
        Mistake(
            json: #"{"user":"\#(String(repeating: "é", count: 256))","product":"p"}"#,
            problem: "invalid-member",
            member: "user"
        ),
        Mistake(json: #"{"user":"a","product":["p"]}"#, problem: "invalid-member", member: "product"),
        Mistake(json: #"{"user":"a","product":"p","orderNo":"7"}"#, problem: "invalid-member", member: "orderNo"),
        Mistake(
            json: #"{"user":"a","product":"p","orderNo":"6F1C9A52-0d7e-8d7b-9c55-6a2f3a1f8e01"}"#,
            problem: "invalid-member",
            member: "orderNo"
        ),
        Mistake(json: #"{"user":"a","product":"p","bundleId":{}}"#, problem: "invalid-member", member: "bundleId"),
        Mistake(json: #"{"user":"a","product":"p","bundleID":"b"}"#, problem: "unknown-member"),
        Mistake(json: #"{"user":"a","product":"p","environment":"Sandbox"}"#, problem: "unknown-member"),
        Mistake(json: #"{"user":"a","user":"b","product":"p"}"#, problem: "not-json"),
        Mistake(json: #"{"user":"a""#, problem: "not-json"),
        Mistake(json: "", problem: "not-json"),
        Mistake(json: "[]", problem: "not-an-object"),
    ]

    @Test func `an invalid body is refused with the name of the member`() async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey()
            for mistake in Self.mistakes {
                let answer = try await api.exchange("POST", "/v1/orders", key: key, json: mistake.json)
                #expect((answer.status, answer.problem) == (400, mistake.problem), "\(mistake.json)")
                #expect(try answer.json()["member"]?.text == mistake.member, "\(mistake.json)")
            }
            #expect(try await api.database.lines("SELECT count(*)::text FROM appstore.orders") == ["0"])
        }
    }

    @Test func `a user may have 255 characters of any length`() async throws {
        try await RunningAPI.run { api in
            let (user, key) = (String(repeating: "𝄞", count: 255), try await api.makeKey())
            let answer = try await api.exchange("POST", "/v1/orders", key: key, json: Self.body(user))
            #expect(answer.status == 201)
            let path = user.utf8.map { "%" + String($0, radix: 16) }.joined()
            let orders = try await api.exchange("GET", "/v1/users/\(path)/orders", key: key).json()
            #expect(orders["orders"]?.elements.count == 1)
        }
    }
}
