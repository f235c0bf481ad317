import HTTPServing
import Inbox

/// Hands the bodies that came by one route to the inbox, and answers after their commit.
struct NotificationStore: Sendable {
    private let intake: Intake
    private let admission: Admission
    private let metrics: IngestMetrics.Route

    init(intake: Intake, admission: Admission, metrics: IngestMetrics.Route) {
        self.intake = intake
        self.admission = admission
        self.metrics = metrics
    }

    /// Answers 200 with an empty body for a body that is stored.
    ///
    /// - Parameter start: when the last byte of the request was there.
    func store(_ body: [UInt8], source: String, since start: ContinuousClock.Instant, answer: @escaping DirectEndpoint.Answer) {
        intake.submit(body, source: source) { [admission, metrics, bytes = body.count] result in
            switch result {
            case .success:
                admission.recordAccepted(bytes: bytes)
                metrics.accepted(bytes: bytes, after: .now - start)
                answer(nil)
            case .failure(let error):
                answer(Problem(error))
            }
        }
    }
}
