import Console
import Interpretation
import Logging
import Revocation

extension Explanation {
    /// Checks bodies for the console as `explain` does; nil where the settings of the worker cannot be used here.
    static func bodyCheck(_ reader: SettingsReader, _ logger: Logger) -> BodyCheck? {
        let events: EventReader
        do throws(SettingsError) {
            events = try VerificationSettings(reader).eventReader
        } catch {
            logger.notice("the console verifies no bodies: that needs the settings of the worker", metadata: ["error": "\(error)"])
            return nil
        }
        return { event, transaction in
            let revocations = try await RevocationRegister.revocations(transaction)
            return try await checks(event, by: events.refusing(revocations), in: transaction)
        }
    }
}
