internal import AppStore
internal import OpenSSL

extension VerificationPolicy {
    /// Checks the environment, app and signing date of genuine content, signed below `anchor`.
    func check(
        _ subject: Subject,
        signedAt signedDate: Timestamp,
        below anchor: Certificate,
        receivedAt: Timestamp,
        _ diagnostics: VerificationDiagnostics?
    ) throws(Flaw) {
        try diagnostics.check(.environment) { () throws(Flaw) in try checkEnvironment(of: subject, anchor: anchor) }
        // A renewal info names no app; the enclosing notification does.
        if subject.kind != .renewalInfo {
            try diagnostics.check(.app) { () throws(Flaw) in try checkApp(of: subject) }
        }
        try diagnostics.check(.clock) { () throws(Flaw) in
            guard signedDate <= receivedAt.advanced(by: clockTolerance) else { throw Flaw(.signedInTheFuture) }
        }
    }

    private func checkEnvironment(of subject: Subject, anchor: Certificate) throws(Flaw) {
        let environment = subject.environment
        let unreadable = subject.unreadable.environment
        guard environment != nil || unreadable != nil || !subject.kind.requiresEnvironment else { throw Flaw(.environmentMissing) }
        guard environment != .xcode, environment != .localTesting else { throw Flaw(.environmentNotSupported) }
        guard roots.contains(where: { $0.certificate == anchor && $0.isTrusted(for: environment) }) else {
            throw Flaw(.environmentNotTrustedByRoot)
        }
        // Old transactions and renewal infos name none; the enclosing notification is checked instead.
        if let environments, let environment, !environments.contains(environment) { throw Flaw(.wrongEnvironment) }
        if let unreadable { throw .unreadable(unreadable) }
    }

    private func checkApp(of subject: Subject) throws(Flaw) {
        if subject.bundleID == nil, let unreadable = subject.unreadable.bundleID { throw .unreadable(unreadable) }
        guard subject.bundleID != nil || (apps == nil && subject.kind != .receipt) else { throw Flaw(.bundleMissing) }
        var required = [appAppleID]
        if let apps {
            let configured = apps.filter { $0.bundleID == subject.bundleID }
            guard !configured.isEmpty else { throw Flaw(.wrongBundle) }
            required += configured.map(\.appAppleID)
        }
        let isMet = required.allSatisfy { Self.isMet($0, by: subject) }
        if subject.appAppleID == nil, !isMet, let unreadable = subject.unreadable.appAppleID { throw .unreadable(unreadable) }
        guard isMet else { throw Flaw(.wrongAppAppleID) }
        if let unreadable = subject.unreadable.bundleID { throw .unreadable(unreadable) }
    }

    /// In the sandbox the number may be absent or zero. A transaction has none, and a receipt may have none.
    private static func isMet(_ required: Int64?, by subject: Subject) -> Bool {
        guard let required, subject.environment == .production, subject.kind != .transaction else { return true }
        guard let number = subject.appAppleID else { return subject.kind == .receipt }
        return number == required
    }
}
