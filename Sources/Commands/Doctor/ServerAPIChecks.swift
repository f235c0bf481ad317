import AppStore
import AppStoreVerification
import Logging
import Metrics
import Outbox
import Postgres
import SQL
import ServerAPI

/// Apple's App Store Server API: for each app and environment, whether Apple accepts the key, and if not, why.
extension DoctorCheck {
    private static let area = "App Store Server API"
    /// No transaction of Apple's. An answer about it proves the key.
    private static let transactionID = "100000000000000"

    @Sendable static func serverAPI(_ context: DoctorContext) async throws -> [Finding] {
        let reader = context.daemons
        let found: SettingsReader.FoundAPIKeys
        let settings: ServerAPISettings
        do throws(SettingsError) {
            guard let keys = try reader.apiKeys() else {
                return [.ok(area, "no key here, so that Apple is not asked; a unit may load some as a credential")]
            }
            found = keys
            settings = try ServerAPISettings(reader)
        } catch {
            // The check of the settings reports it.
            return []
        }
        var configuration = Exchange.Configuration()
        configuration.extraRootPaths = reader.valid(Settings.outboundRoots) ?? []
        let lanes = lanes(reader)
        return try await Exchange.withClient(configuration) { exchange in
            await findings(found.keys, settings, lanes, through: exchange) { lane, client in
                let probe = probe(client, exchange, context)
                return [await probe.lastHour(of: lane)] + (context.testsNotification ? [await probe.test(lane)] : [])
            }
        }
    }

    /// - Parameter more: further findings about an app whose key Apple accepts.
    static func findings(
        _ keys: [APIKey],
        _ settings: ServerAPISettings,
        _ lanes: [CallLane],
        through exchange: Exchange,
        more: (CallLane, ServerAPIClient) async -> [Finding] = { _, _ in [] }
    ) async -> [Finding] {
        var findings = keys.map { Finding.ok("key \($0.id.keyID)", "issuer \($0.id.issuer), SHA-256 \($0.fingerprint)") }
        // One client for all: what Apple says of one app explains what it says of another.
        let all = client(settings.keys, settings)
        var results: [(lane: CallLane, result: ServerAPIResult)] = []
        for lane in lanes where !settings.keys.keys(of: lane.bundleID).isEmpty {
            results.append((lane, await ask(lane, all, exchange)))
        }
        for (lane, result) in results {
            let finding = finding("\(lane.bundleID) \(lane.environment.rawValue)", result, lane, all)
            findings.append(finding)
            if finding.status == .ok { findings += await more(lane, all) }
        }
        for bundleID in Set(lanes.map(\.bundleID)).sorted() where settings.keys.keys(of: bundleID).isEmpty {
            findings.append(await issuer(of: bundleID, lanes.filter { $0.bundleID == bundleID }, keys, settings, exchange))
        }
        return findings
    }

    private static func lanes(_ reader: SettingsReader) -> [CallLane] {
        let environments = reader.valid(Settings.environments) ?? []
        return (reader.valid(Settings.apps) ?? []).flatMap { app in environments.map { CallLane(app.bundleID, $0) } }.sorted()
    }

    private static func probe(_ client: ServerAPIClient, _ exchange: Exchange, _ context: DoctorContext) -> NotificationProbe {
        NotificationProbe(client: client, exchange: exchange, now: LogOutput.standardError.now()) { uuid, environment in
            let statement = Statement.doctorTestArrived(notificationUUID: uuid, environment: environment.rawValue)
            return try await context.query(statement).first?.decode("event_id")
        }
    }

    /// How far workers have read Apple's history, and what they may ask. The thresholds are those of the alerts.
    @Sendable static func coverage(_ context: DoctorContext) async throws -> [Finding] {
        try await context.query(.doctorServerAPI()).flatMap { row in
            let lane: String = try "\(row.decode("bundle_id", as: String.self)) \(row.decode("environment", as: String.self))"
            let blocked: [String] = try row.decode("blocked")
            let budget: Finding =
                blocked.isEmpty
                ? .ok("\(lane) budget", "no endpoint is blocked")
                : .warning(
                    "\(lane) budget",
                    "Apple's limit is exceeded for \(blocked.joined(separator: ", "))",
                    "wait, or lower api-budget; see SELECT * FROM appstore.api_budget_status"
                )
            return [try history("\(lane) history", row), budget]
        }
    }

    private static func history(_ subject: String, _ row: Row) throws -> Finding {
        let mode: String = try row.decode("mode")
        let age = Duration.seconds(try row.decode("age", as: Int64.self))
        let taken: Int64 = try row.decode("taken_elsewhere")
        guard mode != "off" else { return .ok(subject, "not read (off)") }
        if age > .seconds(3600) {
            let why = try row.decode("is_failing", as: Bool.self) ? ", and a window fails" : ""
            return .warning(
                subject,
                "read until \(age.inWords) ago\(why)",
                "see appstore-inbox history gaps; does a worker with the app's key run?"
            )
        }
        if taken > 0, mode == "walk" {
            let cure = "compare the URL in App Store Connect; while another server should have it: appstore-inbox history mode beside"
            return .warning(subject, "another server has answered 200 to \(taken) notifications that never came here", cure)
        }
        return .ok(subject, "read until \(age.inWords) ago")
    }

    private static func client(_ keys: APIKeys, _ settings: ServerAPISettings) -> ServerAPIClient {
        let logger = Logger(label: "doctor") { _ in SwiftLogNoOpLogHandler() }
        return ServerAPIClient(
            hosts: settings.hosts,
            keys: { keys },
            budget: UnlimitedBudget(),
            logger: logger,
            metrics: NOOPMetricsHandler.instance,
            now: { LogOutput.standardError.now() }
        )
    }

    static func finding(_ subject: String, _ result: ServerAPIResult, _ lane: CallLane, _ client: ServerAPIClient) -> Finding {
        switch result {
        case .answered: return .ok(subject, "Apple accepts the key")
        case .refused(let refusal) where refusal.provesKey: return .ok(subject, "Apple accepts the key")
        case .refused(let refusal):
            let found = "Apple accepts the key, and refuses the question with \(refusal.code.rawValue) \(refusal.message)"
            return .warning(subject, found, "update the program, or ask Apple's support")
        case .later(let delay) where delay.reason == "api_key":
            let cause = client.refusal(of: lane) ?? .unknown
            return .failure(subject, "Apple refuses the key with 401: \(cause.explanation)", cause.remedy)
        case .later(let delay) where delay.reason == "rate_limited":
            return .warning(subject, "Apple accepts the key, and its limit is exceeded", "see SELECT * FROM appstore.api_budget_status")
        case .later(let delay):
            return .unknown(subject, "no usable answer (\(delay.reason))", delay.cure)
        case .shuttingDown: return .unknown(subject, "interrupted", "run this again")
        }
    }

    private static func ask(_ lane: CallLane, _ client: ServerAPIClient, _ exchange: Exchange) async -> ServerAPIResult {
        let request = ServerAPIRequest(.transactionInfo, of: lane.bundleID, in: lane.environment, path: [transactionID])
        return await client.send(request, class: .interactive, through: exchange)
    }

    /// Finds the issuer of an app among several by asking.
    private static func issuer(
        of bundleID: String,
        _ lanes: [CallLane],
        _ keys: [APIKey],
        _ settings: ServerAPISettings,
        _ exchange: Exchange
    ) async -> Finding {
        for (issuer, own) in Dictionary(grouping: keys, by: \.id.issuer).sorted(by: { $0.key < $1.key }) {
            let client = client(APIKeys(own, lanes: Set(lanes)), settings)
            var isAccepted = false
            for lane in lanes where !isAccepted {
                switch await ask(lane, client, exchange) {
                case .refused(let refusal): isAccepted = refusal.provesKey
                case .later(let delay) where delay.reason != "api_key":
                    return .unknown(bundleID, "there are keys of several issuers, and no usable answer (\(delay.reason))", delay.cure)
                case .answered, .later, .shuttingDown: break
                }
            }
            guard isAccepted else { continue }
            let found = "there are keys of several issuers; Apple accepts that of \(issuer)"
            return .warning(bundleID, found, "add \(bundleID)=\(issuer) to api-issuers")
        }
        return .failure(bundleID, "Apple accepts the key of no issuer for it", "correct apps, or add the key of the app's account")
    }
}

extension ServerAPIRefusal {
    /// Whether Apple looked for the made-up transaction.
    fileprivate var provesKey: Bool { [.transactionIDNotFound, .invalidTransactionID].contains(code) }
}
