import AppStore
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
    func callAsFunction(_ request: Request) async throws(Problem) -> Response {
        let start = ContinuousClock.now
        try checkFields(request.headers)
        let body = try await collect(request.body)
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

    private func checkFields(_ headers: HTTPFields) throws(Problem) {
        guard headers[.contentEncoding].map({ $0.lowercased() == "identity" }) ?? true else { throw .contentEncodingRefused }
        guard let mediaType = headers[.contentType], Self.isJSON(mediaType) else { throw .unsupportedMediaType }
    }

    /// True for `application/json`, in any case and with any parameters.
    private static func isJSON(_ mediaType: String) -> Bool {
        let essence = mediaType.utf8.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
        return essence.elementsEqual("application/json".utf8) { $0 | 0x20 == $1 | 0x20 }
    }

    private func collect(_ body: RequestBody) async throws(Problem) -> ByteBuffer {
        do {
            // The connection has checked the length already, and the body is here as a whole.
            return try await body.collect(upTo: maximumBytes)
        } catch {
            throw .malformedRequest
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
