import Postgres
import Revocation

/// Whether the certificates that sign are revoked. The threshold is that of the alert.
extension DoctorCheck {
    @Sendable static func revocation(_ context: DoctorContext) async throws -> [Finding] {
        let subject = "ocsp"
        guard let row = try await context.query(RevocationStatistics.statement).first else { return [] }
        let statistics = try RevocationStatistics(row)
        let look = "SELECT * FROM appstore.certificate_status"
        if statistics.revoked > 0 {
            return [.failure(subject, statistics.summary, "what they signed is rejected: \(look), then appstore.revoked_events")]
        }
        guard context.daemons.valid(Settings.ocsp) != false else {
            return [.ok(subject, "off here (\(Settings.ocsp.name)); \(statistics.summary)")]
        }
        if let age = statistics.age, age > .seconds(7 * 86_400) {
            let found = "no usable answer for \(age.inWords), \(statistics.lastError ?? "no worker asks"); events are accepted"
            return [
                .warning(subject, found, "let the workers reach ocsp.apple.com on port 80, or set \(Settings.ocsp.name) to off; \(look)")
            ]
        }
        return [.ok(subject, statistics.summary)]
    }
}

extension RevocationStatistics {
    /// Whether no certificate is known.
    var isEmpty: Bool { certificates == 0 && revoked == 0 && ignored == 0 }

    /// One line for an operator.
    var summary: String {
        guard !isEmpty else { return "no certificate has signed yet" }
        var parts = ["\(certificates) certificates that sign", revoked == 0 ? "none revoked" : "\(revoked) revoked"]
        if ignored > 0 { parts.append("\(ignored) revoked and ignored") }
        parts.append(age.map { "oldest answer \($0.inWords) ago" } ?? "no responder to ask")
        if let lastError { parts.append("last error \(lastError)") }
        return parts.joined(separator: ", ")
    }
}
