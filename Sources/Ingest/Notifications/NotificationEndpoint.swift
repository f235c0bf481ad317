import AppStore
import AppStoreVerification
import HTTPServing
import Metrics
import NIOCore

/// Accepts Apple's notifications V2: checks the form of the body, stores its bytes, and answers after the commit.
struct NotificationEndpoint: Sendable {
    static let path = "/apple/v2/notifications"

    private let store: NotificationStore

    init(store: NotificationStore) {
        self.store = store
    }

    /// Stores a notification and answers 200 with an empty body.
    @Sendable func callAsFunction(_ request: Request, _ answer: @escaping Endpoint.Answer) {
        let start = ContinuousClock.now
        do throws(Problem) {
            try request.checkJSON()
            try request.body.withUnsafeReadableBytes { bytes throws(Problem) in try Self.check(bytes) }
        } catch {
            return answer(.failure(error))
        }
        store.store(Array(buffer: request.body), source: EventSource.notificationV2.rawValue, since: start, answer: answer)
    }

    /// Throws when the bytes cannot be a notification V2.
    static func check(_ body: UnsafeRawBufferPointer) throws(Problem) {
        do throws(NotificationBody.Refusal) {
            try NotificationBody.check(body)
        } catch {
            throw Problem(error)
        }
    }
}

/// Accepts Apple's notifications V1: checks the shared secret, removes it from the body, stores the rest, and answers after the commit.
/// Notifications V2 that arrive here, such as TEST, are accepted too.
///
/// No secret reaches the database or outlives the call.
struct LegacyNotificationEndpoint: Sendable {
    static let path = "/apple/v1/notifications"

    private let secrets: @Sendable () -> SharedSecrets
    private let store: NotificationStore
    private let maximumBytes: Int
    private let maximumSignedBytes: Int

    /// - Parameters:
    ///   - secrets: asked for at each notification.
    ///   - maximumBytes: the most bytes in a notification V1.
    ///   - maximumSignedBytes: the most bytes in a notification V2.
    init(secrets: @escaping @Sendable () -> SharedSecrets, store: NotificationStore, maximumBytes: Int, maximumSignedBytes: Int) {
        self.secrets = secrets
        self.store = store
        self.maximumBytes = maximumBytes
        self.maximumSignedBytes = maximumSignedBytes
    }

    /// Stores a notification and answers 200 with an empty body.
    @Sendable func callAsFunction(_ request: Request, _ answer: @escaping Endpoint.Answer) {
        let start = ContinuousClock.now
        let notification: NotificationV1Body
        let source: EventSource
        do throws(Problem) {
            try request.checkJSON()
            notification = try request.body.withUnsafeReadableBytes { bytes throws(Problem) in try Self.read(bytes) }
            source = try check(notification, bytes: request.body.readableBytes)
        } catch {
            return answer(.failure(error))
        }
        store.store(notification.bytes, source: source.rawValue, since: start, answer: answer)
    }

    private static func read(_ body: UnsafeRawBufferPointer) throws(Problem) -> NotificationV1Body {
        do throws(NotificationV1Body.Refusal) {
            return try NotificationV1Body(body)
        } catch {
            throw Problem(error)
        }
    }

    /// Checks a notification and returns its source.
    ///
    /// - Parameter bytes: the length as received. Replacing a secret that is not a string may make the body longer.
    private func check(_ notification: NotificationV1Body, bytes: Int) throws(Problem) -> EventSource {
        let bytes = max(bytes, notification.bytes.count)
        switch notification.kind {
        case .notificationV2:
            guard bytes <= maximumSignedBytes else { throw .contentTooLarge(limit: maximumSignedBytes) }
            try notification.bytes.withUnsafeBufferPointer { bytes throws(Problem) in
                try NotificationEndpoint.check(UnsafeRawBufferPointer(bytes))
            }
            return .notificationV2
        case .notificationV1:
            guard bytes <= maximumBytes else { throw .contentTooLarge(limit: maximumBytes) }
            switch secrets().authenticate(notification) {
            case .authentic: return .notificationV1
            case .wrong: throw .wrongSharedSecret
            case .notConfigured: throw .noSharedSecret
            }
        }
    }
}

/// Stores the bodies of one route in the inbox and answers after their commit.
struct NotificationStore: Sendable {
    private let committer: GroupCommitter
    private let admission: Admission
    private let metrics: IngestMetrics.Route

    init(committer: GroupCommitter, admission: Admission, metrics: IngestMetrics.Route) {
        self.committer = committer
        self.admission = admission
        self.metrics = metrics
    }

    /// Stores a body and answers 200 with an empty body.
    ///
    /// - Parameter start: when the last byte of the request arrived.
    func store(_ body: [UInt8], source: String, since start: ContinuousClock.Instant, answer: @escaping Endpoint.Answer) {
        committer.submit(body, source: source) { [admission, metrics, bytes = body.count] result in
            switch result {
            case .success:
                admission.recordAccepted(bytes: bytes)
                metrics.accepted(bytes: bytes, after: .now - start)
                answer(.success(.empty))
            case .failure(let error):
                answer(.failure(Problem(error)))
            }
        }
    }
}

/// The HTTP metrics of ingest.
struct IngestMetrics: Sendable {
    private let answered: Timer
    private let factory: any MetricsFactory

    init(factory: any MetricsFactory) {
        self.factory = factory
        answered = Timer(label: "appstore_inbox_ingest_accept_seconds", factory: factory)
    }

    /// The metrics of one route.
    struct Route: Sendable {
        fileprivate let accepted: Counter
        fileprivate let acceptedBytes: Counter
        fileprivate let answered: Timer

        /// Counts a stored body and the time from its last byte to its commit.
        func accepted(bytes: Int, after duration: Duration) {
            accepted.increment()
            acceptedBytes.increment(by: bytes)
            answered.record(duration: duration)
        }
    }

    /// Creates the metrics of the route with that path.
    func route(_ path: String) -> Route {
        let dimensions = [("route", path)]
        return Route(
            accepted: Counter(label: "appstore_inbox_ingest_accepted_total", dimensions: dimensions, factory: factory),
            acceptedBytes: Counter(label: "appstore_inbox_ingest_accepted_bytes_total", dimensions: dimensions, factory: factory),
            answered: answered
        )
    }
}
