import Postgres
import SQL

/// Webhooks: what they are signed with, and how far each endpoint is. The thresholds are those of the alerts.
extension DoctorCheck {
    @Sendable static func endpoints(_ context: DoctorContext) async throws -> [Finding] {
        let endpoints = try await context.query(.endpointList()).map(Endpoint.init)
        guard !endpoints.isEmpty else { return [.ok("endpoints", "none; your backend reads the feed, or is told nothing")] }
        // The console's process has no secrets.
        return (context.transaction == nil ? [secret(context)] : []) + endpoints.flatMap(findings)
    }

    private static func secret(_ context: DoctorContext) -> Finding {
        let subject = "webhook secret"
        do throws(SettingsError) {
            switch try context.daemons.commandMasters() {
            case .found: return .ok(subject, "there is one")
            case .unreadable(let reason): return .unknown(subject, reason, "run this as a user who may read it, such as root")
            }
        } catch {
            let lines = error.problems[0].split(separator: "\n").map(String.init)
            return .failure(subject, lines[0], lines.count > 1 ? lines[1...].joined(separator: " ") : "correct it: nothing is delivered")
        }
    }

    private static func findings(_ endpoint: Endpoint) -> [Finding] {
        let subject = "endpoint \(endpoint.name)"
        let show = "appstore-inbox endpoint show \(endpoint.name)"
        let resume = "appstore-inbox endpoint resume \(endpoint.name)"
        var findings: [Finding] = []
        switch endpoint.state {
        case "enabled": break
        case "paused": findings.append(.warning(subject, condition(endpoint), resume))
        default: findings.append(.failure(subject, condition(endpoint), "correct the receiver; then \(resume)"))
        }
        let age = Duration.seconds(endpoint.oldestUndelivered ?? 0)
        if endpoint.state == "enabled", age > .seconds(900) {
            let found = "\(endpoint.isProbed ? "fails; " : "")the oldest undelivered entry has waited for \(age.inWords)"
            findings.append(age > .seconds(3600) ? .failure(subject, found, show) : .warning(subject, found, show))
        }
        if endpoint.givenUp > 0 {
            let again = "\(show); then appstore-inbox redeliver \(endpoint.name) --only-failed"
            findings.append(.warning(subject, "\(endpoint.givenUp) deliveries were given up", again))
        }
        guard findings.isEmpty else { return findings }
        let last = endpoint.succeededAt.map { "delivered last \($0)" } ?? "nothing delivered yet"
        return [.ok(subject, "\(last); \(endpoint.lag) entries behind, \(endpoint.open) deliveries repeated or waiting")]
    }

    private static func condition(_ endpoint: Endpoint) -> String { endpoint.condition.onOneLineSafely }
}
