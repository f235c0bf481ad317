import AppStore
import HTTPServing
import HTTPTypes
import Hummingbird
import Inbox
import NIOCore

/// Takes a notification of Apple's: checks that it can be one, stores its bytes, and answers after the commit.
struct NotificationEndpoint: Sendable {
    private let source: String
    private let intake: Intake
    private let admission: Admission
    private let metrics: IngestMetrics
    private let maximumBytes: Int

    init(source: String, intake: Intake, admission: Admission, metrics: IngestMetrics, maximumBytes: Int) {
        self.source = source
        self.intake = intake
        self.admission = admission
        self.metrics = metrics
        self.maximumBytes = maximumBytes
    }

    /// Answers 200 with an empty body for a body that is stored.
    func callAsFunction(_ request: Request, _ values: PathValues) async throws(Problem) -> Response {
        let start = ContinuousClock.now
        let body = try await JSONRequestBody.collect(request, maximumBytes: maximumBytes)
        try checkShape(body)
        do {
            _ = try await intake.submit(Array(buffer: body), source: source)
        } catch let error as IntakeError {
            throw Problem(error)
        } catch {
            // Only a cancelled task gets here: the server does not wait for it any longer.
            throw .shuttingDown
        }
        admission.recordAccepted(bytes: body.readableBytes)
        metrics.accepted(bytes: body.readableBytes, after: .now - start)
        return Response(status: .ok)
    }

    private func checkShape(_ body: ByteBuffer) throws(Problem) {
        do throws(NotificationBody.Refusal) {
            try body.withUnsafeReadableBytes { bytes throws(NotificationBody.Refusal) in try NotificationBody.check(bytes) }
        } catch {
            throw Problem(error)
        }
    }
}
