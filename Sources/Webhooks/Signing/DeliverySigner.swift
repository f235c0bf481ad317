import FoundationEssentials
import Synchronization

/// Makes the signed fields of each attempt, and keeps the derived secrets of an endpoint.
final class DeliverySigner: Sendable {
    private struct Derived {
        let masters: WebhookMasters
        let generations: [Int]
        let secrets: [WebhookSecret]
    }

    private let endpointID: UUID
    private let derived = Mutex<Derived?>(nil)

    init(endpointID: UUID) {
        self.endpointID = endpointID
    }

    /// The fields of Standard Webhooks 1.0. Each secret that is valid signs by both schemes: that of the current generation first, for a day
    /// after a rotation that of the one before, and each with the previous master secret, too, as long as there is one.
    func headers(
        for entry: FeedEntry,
        _ body: [UInt8],
        _ settings: EndpointSettings,
        _ masters: WebhookMasters
    ) throws -> [(name: String, value: String)] {
        let id = entry.id.uuidString.lowercased()
        let timestamp = Int64(Date().timeIntervalSince1970)
        let signatures = try secrets(settings, masters).map { try $0.signature(id: id, timestamp: timestamp, body: body) }
        return [
            ("content-type", "application/json"), ("webhook-id", id), ("webhook-timestamp", String(timestamp)),
            ("webhook-signature", signatures.joined(separator: " ")),
        ]
    }

    private func secrets(_ settings: EndpointSettings, _ masters: WebhookMasters) -> [WebhookSecret] {
        let generations = [settings.secretGeneration] + (settings.hasPreviousSecret ? [settings.secretGeneration - 1] : [])
        return derived.withLock { derived in
            if let derived, derived.masters == masters, derived.generations == generations { return derived.secrets }
            let secrets = generations.flatMap { masters.secrets(endpointID: endpointID, generation: $0) }
            derived = Derived(masters: masters, generations: generations, secrets: secrets)
            return secrets
        }
    }
}
