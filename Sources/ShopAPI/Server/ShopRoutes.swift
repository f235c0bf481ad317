import AppStore
import Feed
import HTTPServing
import NIOCore
import NIOHTTP1
import StrictJSON

/// The routes for the shop's own backend, each with the verb that a key needs.
struct ShopRoutes: Sendable {
    private typealias Endpoint = @Sendable (AuthorizedRequest) async throws(Problem) -> Response

    let store: ShopStore
    let feedStore: ShopStore
    let standbyStore: ShopStore?
    let watch: FeedWatch
    let admission: Admission
    let maximumBytes: Int
    /// The most bytes in a body with a receipt.
    let maximumReceiptBytes: Int
    let metrics: AnswerMetrics

    var routes: Routes {
        let orders = OrdersEndpoint(store: store)
        let transactions = TransactionsEndpoint(kind: .transaction, store: store, admission: admission, maximumBytes: maximumBytes)
        let apps = TransactionsEndpoint(kind: .appTransaction, store: store, admission: admission, maximumBytes: maximumBytes)
        let receipts = ReceiptsEndpoint(store: store, admission: admission, maximumBytes: maximumReceiptBytes)
        let reading = ReadingEndpoints(store: store, ledger: LedgerReads(primary: store, standby: standbyStore))
        let owner = OwnerEndpoint(store: store)
        var routes = Routes(hidesUnknownPaths: true)
        add(.POST, "/v1/orders", .createOrders, orders.make, to: &routes)
        add(.GET, "/v1/orders/{orderNo}", .readOrders, orders.order, to: &routes)
        add(.GET, "/v1/users/{user}/orders", .readOrders, orders.orders, to: &routes)
        add(.PUT, "/v1/users/{user}/token", .createOrders, TokenEndpoint(store: store).set, to: &routes)
        add(.POST, "/v1/transactions", .submitTransactions, transactions.submit, to: &routes)
        add(.POST, "/v1/app-transactions", .submitTransactions, apps.submit, to: &routes)
        add(.POST, ReceiptsEndpoint.path, .submitReceipts, receipts.submit, to: &routes)
        add(.GET, "/v1/events/{id}", .readEvents, reading.event, to: &routes)
        add(.GET, "/v1/users/{user}/entitlements", .readEntitlements, reading.entitlements, to: &routes)
        add(.GET, "/v1/users/{user}/app-transactions", .readEntitlements, reading.appTransactions, to: &routes)
        add(.GET, "/v1/subscriptions/{originalTransactionId}", .readSubscriptions, reading.subscription, to: &routes)
        add(.PUT, "/v1/contracts/{originalTransactionId}/owner", .linkContracts, owner.link, to: &routes)
        let feed = FeedEndpoint(store: feedStore, watch: watch)
        add(.GET, "/v1/feed", .readFeed, feed.read, to: &routes)
        add(.GET, "/v1/feed/{position}", .readFeed, feed.entry, to: &routes)
        let consumers = ConsumersEndpoint(store: store)
        add(.GET, "/v1/feed/consumers/{name}", .readFeed, consumers.consumer, to: &routes)
        add(.PUT, "/v1/feed/consumers/{name}", .consumeFeed, consumers.set, to: &routes)
        add(.DELETE, "/v1/feed/consumers/{name}", .consumeFeed, consumers.remove, to: &routes)
        let consumption = ConsumptionEndpoint(store: store)
        add(.GET, "/v1/consumption", .readConsumption, consumption.requests, to: &routes)
        add(.GET, "/v1/consumption/{environment}/{transactionId}", .readConsumption, consumption.request, to: &routes)
        add(.PUT, "/v1/consumption/{environment}/{transactionId}", .answerConsumption, consumption.answer, to: &routes)
        let consent = ConsentEndpoint(store: store)
        add(.PUT, "/v1/users/{user}/consent", .writeConsents, consent.give, to: &routes)
        add(.DELETE, "/v1/users/{user}/consent", .writeConsents, consent.withdraw, to: &routes)
        let inquiries = InquiriesEndpoint(store: store, admission: admission)
        add(.POST, InquiriesEndpoint.path, .makeInquiries, inquiries.ask, to: &routes)
        // A change is answered with the path of its call.
        add(.GET, InquiriesEndpoint.path + "/{id}", .makeInquiries, or: [.extendContracts, .setTokens], inquiries.call, to: &routes)
        add(.PUT, "/v1/contracts/{originalTransactionId}/extension", .extendContracts, inquiries.extend, to: &routes)
        add(.PUT, "/v1/contracts/{originalTransactionId}/app-account-token", .setTokens, inquiries.setToken, to: &routes)
        PublicEndpoints(store: store, admission: admission).add(to: &routes)
        return routes
    }

    private func add(
        _ method: HTTPMethod,
        _ path: String,
        _ verb: Verb,
        or others: [Verb] = [],
        _ endpoint: @escaping Endpoint,
        to routes: inout Routes
    ) {
        let operation = metrics.operation("\(method.rawValue) \(path)")
        routes.on(method, path) { request throws(Problem) in
            let start = ContinuousClock.now
            let key = try await scope(of: request)
            try key.check(anyOf: [verb] + others)
            let response = try await endpoint(AuthorizedRequest(httpRequest: request, key: key))
            operation.answered(status: Int(response.status.code), after: .now - start)
            return response
        }
    }

    /// The scope of the key in a request.
    ///
    /// - Throws: status 401 for a missing, unknown or revoked key.
    private func scope(of request: Request) async throws(Problem) -> KeyScope {
        guard let credentials = request.field("authorization"), let key = Self.bearerKey(credentials),
            let scope = try await store.scope(ofKey: key.hash)
        else { throw .unauthorized }
        return scope
    }

    /// Parses RFC 6750, section 2.1. The scheme is case-insensitive (RFC 9110, section 11.1).
    private static func bearerKey(_ credentials: String) -> APIKey? {
        let parts = credentials.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return APIKey(String(parts[1]))
    }
}

/// The routes without a key: health, and the API description.
private struct PublicEndpoints: Sendable {
    let store: ShopStore
    let admission: Admission

    func add(to routes: inout Routes) {
        // Ready when the database answers role `appstore_api` and the process accepts requests.
        HealthEndpoints { () throws(Problem) in
            if admission.isShuttingDown { throw .shuttingDown }
            _ = try await store.scope(ofKey: [])
        }.add(to: &routes)
        routes.on(.GET, "/openapi.json", openAPI)
    }

    @Sendable private func openAPI(_ request: Request) async throws(Problem) -> Response {
        Response(text: OpenAPI.text, mediaType: "application/json")
    }
}

/// The description of the API (OpenAPI 3.1), from openapi.json. OpenAPITests compares it with the routes.
enum OpenAPI {
    static let text = String(decoding: EmbeddedFiles.openapi_json, as: UTF8.self)
}

extension Response {
    /// A JSON answer. Caches must not store it: it is current only now, and only for this key.
    static func json(_ object: JSONObject, status: HTTPResponseStatus = .ok, location: String? = nil) -> Response {
        var response = json(ByteBuffer(bytes: JSONSerializer.serialize(object)))
        response.status = status
        if let location { response.headers.add(name: "location", value: location) }
        return response
    }

    /// Status 200 with bytes that are JSON already.
    ///
    /// - Parameter mediaType: a kind of JSON.
    static func json(_ bytes: ByteBuffer, mediaType: String = "application/json") -> Response {
        Response(status: .ok, headers: ["content-type": mediaType, "cache-control": "no-store"], body: bytes)
    }

    /// Status 202 for a stored event that is not settled, with its path.
    static func accepted(_ eventID: Int64) -> Response {
        let path = ClientEvent.path(of: eventID)
        return .json(["event": .string("\(eventID)"), "url": .string(path), "state": "waiting"], status: .accepted, location: path)
    }
}
