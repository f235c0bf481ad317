import InboxQueue
import Postgres
import Revocation
import SQL

/// The events that wait, and those that need a person. The thresholds are those of the alerts.
extension DoctorCheck {
    @Sendable static func inbox(_ context: DoctorContext) async throws -> [Finding] {
        findings(try InboxStatistics(try await context.query(InboxStatistics.statement)[0]))
    }

    private static func findings(_ inbox: InboxStatistics) -> [Finding] {
        let overdue = inbox.overdue ?? .zero
        let oldest = inbox.oldestUnsettled ?? .zero
        let worker = "systemctl status appstore-inbox-worker; see its log"
        return [
            overdue > .seconds(60)
                ? .failure("due events", "\(inbox.ready), the first for \(overdue.inWords): workers do not keep up", worker)
                : .ok("due events", "\(inbox.ready)"),
            oldest > .seconds(86_400)
                ? .warning("oldest event", "has had no outcome for \(oldest.inWords)", "see last_error in appstore.inbox_queue")
                : .ok("oldest event", inbox.unsettled == 0 ? "each event has an outcome" : "waits for \(oldest.inWords)"),
            inbox.failed > 0
                ? .warning(
                    "failed events",
                    "\(inbox.failed)",
                    "see SELECT * FROM appstore.failed; then appstore-inbox requeue --outcome failed, or discard"
                )
                : .ok("failed events", "none"),
            inbox.lostBatches > 0
                ? .warning("lost batches", "\(inbox.lostBatches): a worker died, and none has taken over its events", worker)
                : .ok("lost batches", "none"),
            silence(inbox),
            snapshot(inbox),
        ]
    }

    @Sendable static func oddMembers(_ context: DoctorContext) async throws -> [Finding] {
        let row = try await context.query(.oddMembers())[0]
        return [
            oddMembers(
                events: try row.decode("events"),
                outcomes: try row.decode("outcomes"),
                members: try row.decode("members", as: [String].self)
            )
        ]
    }

    /// - Parameters:
    ///   - events: those of the last seven days among the latest outcomes.
    ///   - outcomes: how many were looked at.
    static func oddMembers(events: Int64, outcomes: Int64, members: [String]) -> Finding {
        guard events > 0 else { return .ok("unreadable members", "none in the last \(outcomes) outcomes of 7 days") }
        return .warning(
            "unreadable members",
            "\(events) genuine events of the last 7 days have members of another type than expected: \(members.joined(separator: ", "))",
            """
            update appstore-inbox, which may read them then, and run appstore-inbox requeue --outcome unhandled; if there is no update, report \
            them with appstore-inbox explain
            """
        )
    }

    @Sendable static func unknownValues(_ context: DoctorContext) async throws -> [Finding] {
        let found = try UnknownValueStatistics(try await context.query(UnknownValueStatistics.statement)[0])
        return [unknownValues(found.values, outcomes: found.outcomes)]
    }

    /// - Parameter outcomes: how many were looked at.
    static func unknownValues(_ values: [UnknownValueStatistics.Value], outcomes: Int64) -> Finding {
        guard !values.isEmpty else { return .ok("unknown values", "none in the last \(outcomes) outcomes of 7 days") }
        let found = values.map { "\($0.name) (events: \($0.events), the latest \($0.latestEventID))" }
        return .warning(
            "unknown values",
            "Apple sent values that this version does not know: \(found.joined(separator: ", "))",
            """
            update appstore-inbox, which may know them then; appstore-inbox explain says of an event what this version made of it; if there is \
            no update, report them
            """
        )
    }

    @Sendable static func externalPurchaseTokens(_ context: DoctorContext) async throws -> [Finding] {
        let statement = ExternalPurchaseTokenStatistics.statement
        return [externalPurchaseTokens(try ExternalPurchaseTokenStatistics(try await context.query(statement)[0]))]
    }

    static func externalPurchaseTokens(_ tokens: ExternalPurchaseTokenStatistics) -> Finding {
        guard tokens.overdue + tokens.dueSoon > 0 else {
            let waiting = tokens.unreported == 0 ? "none waits to be reported" : "\(tokens.unreported) are due in more than two days"
            return .ok("external purchase tokens", waiting)
        }
        return .warning(
            "external purchase tokens",
            "not marked as reported to Apple: \(tokens.overdue) overdue, \(tokens.dueSoon) due within two days",
            """
            see SELECT * FROM appstore.external_purchase_tokens_due; report them to Apple, then call \
            appstore.mark_external_purchase_token_reported
            """
        )
    }

    private static func silence(_ inbox: InboxStatistics) -> Finding {
        let remedy = "compare the URL in App Store Connect, and let Apple send a test notification; --url tests the way in"
        guard let silence = inbox.silence else { return .warning("last notification", "none has come yet", remedy) }
        let found = "\(silence.inWords) ago"
        return silence > .seconds(86_400) ? .warning("last notification", found, remedy) : .ok("last notification", found)
    }

    private static func snapshot(_ inbox: InboxStatistics) -> Finding {
        guard inbox.seesAllSessions else {
            return .unknown("oldest snapshot", "other sessions cannot be seen", "as a superuser, GRANT pg_read_all_stats TO appstore_owner")
        }
        let age = inbox.snapshotAge ?? .zero
        guard age > .seconds(3600) else { return .ok("oldest snapshot", age.inWords) }
        let remedy = "end the session with the oldest xact_start in pg_stat_activity, or the replication slot or prepared transaction"
        return .warning("oldest snapshot", "\(age.inWords): vacuum removes no dead rows since then", remedy)
    }
}

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

/// Webhooks: what they are signed with, and how far each endpoint is. The thresholds are those of the alerts.
extension DoctorCheck {
    @Sendable static func endpoints(_ context: DoctorContext) async throws -> [Finding] {
        let endpoints = try await context.query(.endpointList()).map(Endpoint.init)
        guard !endpoints.isEmpty else { return [.ok("endpoints", "none; your backend reads the feed, or is told nothing")] }
        // The console's process has no secrets.
        return (context.transaction == nil ? [secret(context)] : []) + endpoints.flatMap(findings(of:))
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

    private static func findings(of endpoint: Endpoint) -> [Finding] {
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
