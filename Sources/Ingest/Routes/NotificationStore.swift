import GroupCommit
import HTTPServing

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
