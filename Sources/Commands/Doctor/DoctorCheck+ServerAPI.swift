import AppStore
import AppStoreVerification
import Logging
import Metrics
import Outbox
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
        return try await Exchange.withClient(configuration) { await findings(found.keys, settings, lanes, through: $0) }
    }

    static func findings(
        _ keys: [APIKey],
        _ settings: ServerAPISettings,
        _ lanes: [CallLane],
        through exchange: Exchange
    ) async -> [Finding] {
        var findings = keys.map { Finding.ok("key \($0.id.keyID)", "issuer \($0.id.issuer), SHA-256 \($0.fingerprint)") }
        // One client for all: what Apple says of one app explains what it says of another.
        let all = client(settings.keys, settings)
        var results: [(lane: CallLane, result: ServerAPIResult)] = []
        for lane in lanes where !settings.keys.keys(of: lane.bundleID).isEmpty {
            results.append((lane, await ask(lane, all, exchange)))
        }
        findings += results.map { finding(of: $0.lane, $0.result, all) }
        for bundleID in Set(lanes.map(\.bundleID)).sorted() where settings.keys.keys(of: bundleID).isEmpty {
            findings.append(await issuer(of: bundleID, lanes.filter { $0.bundleID == bundleID }, keys, settings, exchange))
        }
        return findings
    }

    private static func lanes(_ reader: SettingsReader) -> [CallLane] {
        let environments = reader.valid(Settings.environments) ?? []
        return (reader.valid(Settings.apps) ?? []).flatMap { app in environments.map { CallLane(app.bundleID, $0) } }.sorted()
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

    private static func finding(of lane: CallLane, _ result: ServerAPIResult, _ client: ServerAPIClient) -> Finding {
        let subject = "\(lane.bundleID) \(lane.environment.rawValue)"
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
            return .unknown(subject, "no usable answer (\(delay.reason))", "let this machine reach Apple by HTTPS; then run this again")
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
                    let cure = "let this machine reach Apple by HTTPS; then run this again"
                    return .unknown(bundleID, "there are keys of several issuers, and no usable answer (\(delay.reason))", cure)
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
