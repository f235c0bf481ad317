package import AppStore
import FoundationEssentials
import Randomness

/// A simulated App Store Server API without I/O: what it says of customers and notifications is what the store's pushes say.
///
/// Give it each customer whenever something has happened to it (``hold(_:at:)``), and each notification that is sent
/// (``push(_:fate:listedAfter:failingWith:)``). The same seed and calls give the same tokens, identifiers and unsigned answers.
package struct SimulatedServerAPI: Sendable {
    /// An app of a developer's account.
    package struct App: Sendable {
        /// Where the app's notifications go.
        package enum Address: Hashable, Sendable {
            /// A server that the test posts to itself, with ``SimulatedServerAPI/takeUnsent()``.
            case unposted
            /// The URL that the simulated API posts to.
            case url(String)
        }

        package let bundleID: String
        package let appAppleID: Int64?
        /// The account.
        package let issuer: String
        /// Whether it is in the App Store. Apple refuses all Production calls about other apps.
        package var isReleased = true
        /// The address in each environment that has one.
        package var addresses: [AppStoreEnvironment: Address] = [.production: .unposted, .sandbox: .unposted]

        package init(bundleID: String, appAppleID: Int64? = nil, issuer: String) {
            self.bundleID = bundleID
            self.appAppleID = appAppleID
            self.issuer = issuer
        }
    }

    package var apps: [App]
    /// The keys of all accounts. Two keys of an issuer are a rotation.
    package var keys: [ServerAPIKey]
    package var options = Options()
    package var limits = ServerAPILimits()
    package var faults = ServerAPIFaults()
    /// The requests that were answered, in their order.
    package private(set) var calls: [ServerAPICall] = []
    var places: [ServerAPIPlace: ServerAPIBooks] = [:]
    var unsent: [UnsentNotification] = []
    var generator: SeededGenerator
    let signer: NotificationSigner

    package init(apps: [App], keys: [ServerAPIKey], signer: NotificationSigner, seed: UInt64) {
        self.apps = apps
        self.keys = keys
        self.signer = signer
        generator = SeededGenerator(seed: seed)
    }

    /// Answers a request.
    package mutating func reply(to request: ServerAPIRequest, at now: Timestamp) -> SimulatedReply {
        let fault = faults.next(for: request)
        let route = ServerAPIEndpoint.route(request.method, request.path)
        var (reply, app, flaw) = (SimulatedReply(status: 401), App?.none, ServerAPITokenFlaw?.none)
        do {
            let known = try authorize(request.token, in: request.environment, at: now)
            app = known
            reply = answer(request, of: known, route, fault, at: now)
        } catch {
            flaw = error
        }
        addHeaders(to: &reply, at: now, fault)
        calls.append(
            ServerAPICall(
                endpoint: route?.endpoint,
                environment: request.environment,
                bundleID: app?.bundleID,
                flaw: flaw,
                status: reply.status,
                arguments: route?.arguments ?? [],
                query: request.query,
                at: now
            )
        )
        return reply
    }

    private mutating func answer(
        _ request: ServerAPIRequest,
        of app: App,
        _ route: (endpoint: ServerAPIEndpoint, arguments: [String])?,
        _ fault: ServerAPIFault?,
        at now: Timestamp
    ) -> SimulatedReply {
        guard let route else { return SimulatedReply(status: 404, contentType: "text/html", body: "<html>Not Found</html>") }
        let place = ServerAPIPlace(app.bundleID, request.environment)
        if let end = limits.count(.init(place: place, endpoint: route.endpoint), at: now) { return limits.refusal(until: end, at: now) }
        if let replacement = fault?.replacement { return replacement }
        do {
            let task = ServerAPITask(request: request, app: app, place: place, arguments: route.arguments, now: now, fault: fault)
            var reply = try perform(task, route.endpoint)
            fault?.change(&reply, to: request)
            return reply
        } catch let error as ServerAPIError {
            return SimulatedReply(error)
        } catch {
            return SimulatedReply(ServerAPIError.internal)
        }
    }

    private mutating func perform(_ task: ServerAPITask, _ endpoint: ServerAPIEndpoint) throws -> SimulatedReply {
        switch endpoint {
        case .transactionInfo: SimulatedReply(try transactionInfo(task))
        case .transactionHistory: SimulatedReply(try transactionHistory(task))
        case .subscriptionStatuses: SimulatedReply(try subscriptionStatuses(task))
        case .appTransactionInfo: SimulatedReply(try appTransactionInfo(task))
        case .refundHistory: SimulatedReply(try refundHistory(task))
        case .orderLookup: try lookUpOrder(task)
        case .consumption: try takeConsumption(task)
        case .consumptionV1: try takeConsumptionV1(task)
        case .appAccountToken: try setAppAccountToken(task)
        case .extendRenewal: SimulatedReply(try extendRenewal(task))
        case .massExtension: SimulatedReply(try extendAll(task))
        case .massExtensionStatus: SimulatedReply(try massExtensionStatus(task))
        case .testNotification: SimulatedReply(try requestTest(task))
        case .testNotificationStatus: SimulatedReply(try testStatus(task))
        case .notificationHistory: SimulatedReply(try notificationHistory(task))
        case .customerGroups: try customerGroups(task)
        case .groupMembers: try groupMembers(task)
        case .seatInfo: try seatInfo(task)
        }
    }

    private mutating func addHeaders(to reply: inout SimulatedReply, at now: Timestamp, _ fault: ServerAPIFault?) {
        var date = now
        if case .date(let skew)? = fault { date = now.advanced(by: skew) }
        reply.headers += [
            .init(name: "date", value: date.httpDate),
            .init(name: "x-apple-request-uuid", value: generator.uuid().uuidString.lowercased()),
        ]
    }
}

/// A request whose token was accepted.
struct ServerAPITask {
    let request: ServerAPIRequest
    let app: SimulatedServerAPI.App
    let place: ServerAPIPlace
    /// The arguments of the path.
    let arguments: [String]
    let now: Timestamp
    let fault: ServerAPIFault?
}
