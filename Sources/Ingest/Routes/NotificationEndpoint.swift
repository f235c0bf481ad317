import AppStore
import HTTPServing
import Inbox
import NIOCore
import NIOHTTP1

/// Takes a notification of Apple's: checks that it can be one, stores its bytes, and answers after the commit.
struct NotificationEndpoint: Sendable {
    private let source: String
    private let intake: Intake
    private let admission: Admission
    private let metrics: IngestMetrics

    init(source: String, intake: Intake, admission: Admission, metrics: IngestMetrics) {
        self.source = source
        self.intake = intake
        self.admission = admission
        self.metrics = metrics
    }

    /// Answers 200 with an empty body for a body that is stored.
    @Sendable func callAsFunction(_ fields: HTTPHeaders, _ body: ByteBuffer, _ answer: @escaping DirectEndpoint.Answer) {
        let start = ContinuousClock.now
        do throws(Problem) {
            try JSONRequestBody.check(fields)
            try checkShape(body)
        } catch {
            return answer(error)
        }
        intake.submit(Array(buffer: body), source: source) { [admission, metrics, bytes = body.readableBytes] result in
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

    private func checkShape(_ body: ByteBuffer) throws(Problem) {
        do throws(NotificationBody.Refusal) {
            try body.withUnsafeReadableBytes { bytes throws(NotificationBody.Refusal) in try NotificationBody.check(bytes) }
        } catch {
            throw Problem(error)
        }
    }
}
