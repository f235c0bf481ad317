import HTTPServing
import HTTPTypes
import Hummingbird
import Inbox

/// Tells whether the process lives, and whether it can store what it gets.
struct HealthEndpoints: Sendable {
    private let intake: Intake
    private let admission: Admission

    init(intake: Intake, admission: Admission) {
        self.intake = intake
        self.admission = admission
    }

    /// Adds `/livez` and `/readyz`.
    func add(to routes: inout Routes) {
        routes.on(.get, "/livez", livez)
        routes.on(.get, "/readyz", readyz)
    }

    /// Touches nothing: that an answer comes is the answer.
    @Sendable private func livez(_ request: Request, _ values: PathValues) async throws(Problem) -> Response {
        Self.text("alive\n")
    }

    /// Answers 200 when the database takes bodies and the process takes requests.
    @Sendable private func readyz(_ request: Request, _ values: PathValues) async throws(Problem) -> Response {
        if admission.isClosed { throw .shuttingDown }
        do {
            try await intake.checkReadiness()
        } catch let error as IntakeError {
            throw Problem(error)
        } catch {
            throw .shuttingDown
        }
        return Self.text("ready\n")
    }

    private static func text(_ text: String) -> Response {
        let body = ResponseBody(byteBuffer: ByteBuffer(string: text))
        return Response(status: .ok, headers: [.contentType: "text/plain; charset=utf-8"], body: body)
    }
}
