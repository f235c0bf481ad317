import AppStore
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
        let keys = found.keys.map { Finding.ok("key \($0.id.keyID)", "issuer \($0.id.issuer), SHA-256 \($0.fingerprint)") }
        let apps = try await Exchange.withClient(configuration) { exchange in
            var findings: [Finding] = []
            let apps = Dictionary(grouping: lanes(reader), by: \.bundleID)
            for (bundleID, lanes) in apps.sorted(by: { $0.key < $1.key }) {
                if settings.keys.keys(of: bundleID).isEmpty {
                    findings.append(await issuer(of: bundleID, lanes, found.keys, settings, exchange))
                } else {
                    findings += await answers(about: lanes, client(settings.keys, settings), exchange)
                }
            }
            return findings
        }
        return keys + apps
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

    /// Asks in each environment first: the answer of one explains that of the other.
    private static func answers(about lanes: [CallLane], _ client: ServerAPIClient, _ exchange: Exchange) async -> [Finding] {
        var results: [(CallLane, ServerAPIResult)] = []
        for lane in lanes { results.append((lane, await ask(lane, client, exchange))) }
        return results.map { lane, result in
            let subject = "\(lane.bundleID) \(lane.environment.rawValue)"
            switch result {
            case .answered: return .ok(subject, "Apple accepts the key")
            case .refused(let refusal) where [.transactionIDNotFound, .invalidTransactionID].contains(refusal.code):
                return .ok(subject, "Apple accepts the key")
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
            let findings = await answers(about: lanes, client, exchange)
            guard findings.contains(where: { $0.status == .ok }) else { continue }
            let found = "there are keys of several issuers; Apple accepts that of \(issuer)"
            return .warning(bundleID, found, "add \(bundleID)=\(issuer) to api-issuers")
        }
        return .failure(bundleID, "Apple accepts the key of no issuer for it", "correct apps, or add the key of the app's account")
    }
}
