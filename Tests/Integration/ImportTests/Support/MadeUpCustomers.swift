import AppStore
import Outbox
import StrictJSON
import Synchronization

/// Apple's customers as a test makes them up, who answer for the statuses of their subscriptions and for their transactions.
final class MadeUpCustomers: Sendable {
    struct Customer: Sendable {
        var environment = "Production"
        /// Each contract with its transactions, of which the first one has the contract's id.
        var contracts: [(id: String, transactions: [String])]
        /// How many transactions Apple knows yet, of all contracts in their order; nil for all.
        var known: Int?

        init(_ contracts: [String], transactions: Int = 1, environment: String = "Production") {
            self.environment = environment
            self.contracts = contracts.map { id in (id, [id] + (1..<max(transactions, 1)).map { "\(id)0\($0)" }) }
        }

        fileprivate var transactions: [(id: String, contract: String)] {
            contracts.flatMap { contract in contract.transactions.map { ($0, contract.id) } }
        }
    }

    struct Request: Hashable, Sendable {
        let endpoint: String
        let environment: String
        let id: String
        let revision: String?
    }

    /// What a test can change.
    struct State: Sendable {
        var customers: [Customer] = []
        var pageSize = 3
        /// Answers in place of the usual one; nil leaves it as it is.
        var fault: (@Sendable (Request) -> ExchangeOutcome?)?
        var requests: [Request] = []
    }

    private let state = Mutex(State())

    func change(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }
    var requests: [Request] { state.withLock(\.requests) }
    /// The ids that were asked for, in order.
    var asked: [String] { requests.map(\.id) }

    var exchange: Exchange { Exchange { request, _ in self.state.withLock { Self.answer(request, &$0) } } }

    static func error(_ code: Int, status: Int = 404) -> ExchangeOutcome {
        .answer(HTTPAnswer(status: status, body: Array(#"{"errorCode":\#(code),"errorMessage":"made up"}"#.utf8)))
    }

    private static func answer(_ outbound: OutboundRequest, _ state: inout State) -> ExchangeOutcome {
        let parts = outbound.url.split(separator: "?")
        let path = parts[0].split(separator: "/").map(String.init)
        let query = parts.dropFirst().first.map { $0.split(separator: "=").map(String.init) }
        let request = Request(
            endpoint: path[path.count - 2],
            environment: outbound.url.contains("sandbox") ? "Sandbox" : "Production",
            id: path[path.count - 1],
            revision: query?.last
        )
        state.requests.append(request)
        if let outcome = state.fault?(request) { return outcome }
        let customer = state.customers.first { customer in
            customer.environment == request.environment && customer.transactions.contains { $0.id == request.id }
        }
        guard let customer else { return error(4_040_010) }
        var answer: JSONObject = ["environment": .string(request.environment), "bundleId": "com.example.app"]
        if request.endpoint == "subscriptions" {
            let entries = customer.contracts.map { contract -> JSONValue in
                [
                    "originalTransactionId": .string(contract.id), "status": 1, "signedRenewalInfo": "e30.e30.c2ln",
                    "signedTransactionInfo": .string(signed(contract.id, of: contract.id)),
                ]
            }
            answer["data"] = [["subscriptionGroupIdentifier": "1", "lastTransactions": .array(entries)]]
        } else {
            let known = Array(customer.transactions.prefix(customer.known ?? .max))
            let from = request.revision.flatMap { Int($0.split(separator: "-").last ?? "") } ?? 0
            let page = known.dropFirst(from).prefix(state.pageSize)
            answer["signedTransactions"] = .array(page.map { .string(signed($0.id, of: $0.contract)) })
            answer["hasMore"] = .bool(from + page.count < known.count)
            answer["revision"] = .string("r-\(from + page.count)")
        }
        return .answer(HTTPAnswer(status: 200, body: JSONSerializer.serialize(answer)))
    }

    private static func signed(_ transaction: String, of contract: String) -> String {
        let payload: JSONObject = ["transactionId": .string(transaction), "originalTransactionId": .string(contract)]
        return "e30." + String(decoding: Base64URL.encode(JSONSerializer.serialize(payload)), as: UTF8.self) + ".c2ln"
    }
}
