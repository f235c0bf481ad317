import AppStore
import StrictJSON
import Testing

@testable import ServerAPI

/// An answer becomes one event for each signed thing in it.
struct ServerAPIElementsTests {
    private static func elements(_ body: String, to endpoint: ServerAPIEndpoint) throws -> ServerAPIElements {
        let request = ServerAPIRequest(endpoint, of: "com.example.app", in: .sandbox, path: ["42"], query: [.init("revision", "r")])
        return try ServerAPIAnswer(status: 200, body: Array(body.utf8), askedAt: ScriptedAPI.start, to: request).elements()
    }

    private static func answers(_ elements: ServerAPIElements) throws -> [JSONValue?] {
        try elements.events.map { try JSONParser().parseObject($0)["answer"] }
    }

    /// A JWS that names a contract; only the payload is read.
    private static func jws(_ contract: String) -> String {
        let payload = Base64URL.encode(Array(#"{"originalTransactionId":"\#(contract)"}"#.utf8))
        return "e30.\(String(decoding: payload, as: UTF8.self)).c2ln"
    }

    @Test func `each entry of a statuses answer is an event, with its unknown members, and with the question`() throws {
        let body = """
            {"environment":"Sandbox","bundleId":"com.example.app","more":1,"data":[
              {"subscriptionGroupIdentifier":"g","lastTransactions":[{"originalTransactionId":"1","status":1,"signedTransactionInfo":"a.b.c",
                "signedRenewalInfo":"d.e.f","new":[1.50]},{"originalTransactionId":2,"status":9}]},
              {"lastTransactions":[{"originalTransactionId":"1","status":5}]},{}]}
            """
        let elements = try Self.elements(body, to: .subscriptionStatuses)
        #expect(elements.contracts == ["1", "2"] && !elements.hasMore && elements.revision == nil && elements.status == nil)
        #expect(elements.bundleID == "com.example.app" && elements.environment == .sandbox)
        let first: JSONValue = [
            "originalTransactionId": "1", "status": 1, "signedTransactionInfo": "a.b.c", "signedRenewalInfo": "d.e.f",
            "new": [try JSONParser().parse(Array("1.50".utf8))],
        ]
        let second: JSONValue = ["originalTransactionId": 2, "status": 9]
        let third: JSONValue = ["originalTransactionId": "1", "status": 5]
        #expect(try Self.answers(elements) == [first, second, third])
        let asked: JSONObject = [
            "endpoint": "subscription_statuses", "environment": "Sandbox", "bundleId": "com.example.app", "path": ["42"],
            "at": .integer(ScriptedAPI.start.millisecondsSince1970), "query": [["revision", "r"]],
        ]
        #expect(try elements.events.allSatisfy { try JSONParser().parseObject($0)["asked"] == .object(asked) })
    }

    @Test func `a page of transactions has an event for each, and says what follows`() throws {
        let (one, two) = (Self.jws("7"), Self.jws("8"))
        let body =
            #"{"revision":"r2","hasMore":true,"bundleId":"com.example.app","signedTransactions":["\#(one)","\#(two)","\#(one)","x"]}"#
        let elements = try Self.elements(body, to: .transactionHistory)
        #expect(elements.hasMore && elements.revision == "r2" && elements.contracts == ["7", "8"])
        #expect(try Self.answers(elements) == [one, two, one, "x"].map { ["signedTransactionInfo": .string($0)] })
    }

    @Test func `a revision that does not fit into a URL is a fault, and an id that is none of Apple's is left out`() throws {
        for size in [1, 10, 100, 1000, 2048, 2049, 65_536, 1_000_000] {
            let (revision, id) = (String(repeating: "%", count: size), String(repeating: "7", count: size))
            let body = #"{"revision":"\#(revision)","signedTransactions":["\#(Self.jws(id))"]}"#
            if size > 2048 {
                #expect(throws: ServerAPIAnswerFault.longRevision) { try Self.elements(body, to: .transactionHistory) }
            } else {
                let elements = try Self.elements(body, to: .transactionHistory)
                #expect(elements.revision == revision && elements.contracts == (size > 255 ? [] : [id]) && elements.events.count == 1)
            }
        }
    }

    @Test func `single transactions, app transactions, and orders`() throws {
        let single = try Self.elements(#"{"signedTransactionInfo":"\#(Self.jws("7"))"}"#, to: .transactionInfo)
        #expect(single.events.count == 1 && single.contracts == ["7"])
        let app = try Self.elements(#"{"signedAppTransactionInfo":"a.b.c"}"#, to: .appTransaction)
        #expect(try Self.answers(app) == [["signedAppTransactionInfo": "a.b.c"]])
        let unknown = try Self.elements(#"{"status":1}"#, to: .orderLookup)
        #expect(unknown.status == 1 && unknown.events.isEmpty)
    }

    @Test(arguments: [
        ("[]", ServerAPIAnswerFault.malformed), ("", .malformed), (#"{"data":{}}"#, .malformed), (#"{"data":[1]}"#, .malformed),
        (#"{"data":[{"lastTransactions":["a.b.c"]}]}"#, .malformed), (#"{"signedTransactions":"a.b.c"}"#, .malformed),
        (#"{"hasMore":"true"}"#, .malformed), (#"{"bundleId":1}"#, .malformed), (#"{"bundleId":"com.example.other"}"#, .wrongBundle),
        (#"{"environment":"Production"}"#, .wrongEnvironment),
    ])
    func `an answer of another form, app or environment is a fault`(body: String, fault: ServerAPIAnswerFault) throws {
        #expect(throws: fault) { try Self.elements(body, to: .transactionHistory) }
    }
}
