import AppStore

/// A check of `doctor`.
struct DoctorCheck: Sendable {
    enum Group: String, CaseIterable, Sendable {
        case settings, database, roles, listeners, inbox, webhooks, apple, disk
    }

    let group: Group
    /// The subject of the finding when the check cannot be made.
    let subject: String
    /// Whether the check needs nothing but statements.
    var asksDatabaseOnly = false
    let run: @Sendable (DoctorContext) async throws -> [Finding]

    static let all = [
        DoctorCheck(group: .settings, subject: "settings", run: settings),
        DoctorCheck(group: .settings, subject: "shared secrets", run: sharedSecrets),
        DoctorCheck(group: .settings, subject: "certificates", run: certificates),
        DoctorCheck(group: .database, subject: "server", asksDatabaseOnly: true, run: server),
        DoctorCheck(group: .database, subject: "schema", run: schema),
        DoctorCheck(group: .database, subject: "limits", asksDatabaseOnly: true, run: limits),
        DoctorCheck(group: .roles, subject: "roles", asksDatabaseOnly: true, run: roles),
        DoctorCheck(group: .listeners, subject: "listeners", run: listeners),
        DoctorCheck(group: .listeners, subject: "public URL", run: publicURL),
        DoctorCheck(group: .inbox, subject: "inbox", asksDatabaseOnly: true, run: inbox),
        DoctorCheck(group: .inbox, subject: "unreadable members", asksDatabaseOnly: true, run: oddMembers),
        DoctorCheck(group: .inbox, subject: "unknown values", asksDatabaseOnly: true, run: unknownValues),
        DoctorCheck(group: .inbox, subject: "external purchase tokens", asksDatabaseOnly: true, run: externalPurchaseTokens),
        DoctorCheck(group: .inbox, subject: "ocsp", asksDatabaseOnly: true, run: revocation),
        DoctorCheck(group: .webhooks, subject: "endpoints", asksDatabaseOnly: true, run: endpoints),
        DoctorCheck(group: .apple, subject: "App Store Server API", run: serverAPI),
        DoctorCheck(group: .apple, subject: "history", asksDatabaseOnly: true, run: coverage),
        DoctorCheck(group: .disk, subject: "disk", asksDatabaseOnly: true, run: disk),
    ]

    /// Seconds since 1970.
    static func now() -> Double { Double(LogOutput.standardError.now().millisecondsSince1970) / 1000 }

    /// Makes all checks; one that fails prevents no other.
    static func report(_ context: DoctorContext) async -> FindingReport {
        var findings: [(Group, Finding)] = []
        for check in all {
            do {
                findings += try await check.run(context).map { (check.group, $0) }
            } catch {
                findings.append(check.failed(error))
            }
        }
        return FindingReport(findings: findings)
    }

    func failed(_ error: any Error) -> (Group, Finding) {
        let remedy = (error as? DoctorContext.NotConnected)?.remedy ?? "remove the cause, then run this again"
        return (group, .unknown(subject, "\(error)", remedy))
    }
}
