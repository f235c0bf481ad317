import OpenSSL
import Postgres

/// When a certificate is asked about again.
struct QuestionSchedule: Sendable {
    var shortest: Duration = .seconds(3600)
    var longest: Duration = .seconds(86_400)
    var retry = Backoff(base: .seconds(300), cap: .seconds(6 * 3600), jitter: 0.5)

    /// The wait from now, at the middle of the answer's validity.
    ///
    /// - Parameters:
    ///   - failures: questions without an answer before this one.
    ///   - now: seconds since 1970.
    func wait(after result: QuestionResult, failures: Int, at now: Int64, using generator: inout some RandomNumberGenerator) -> Duration {
        switch result {
        case .answered(let validity, _):
            let middle = validity.thisUpdate + (validity.nextUpdate - validity.thisUpdate) / 2
            return min(max(Duration.seconds(middle - now), shortest), longest)
        case .noAddress: return longest
        case .unanswered: return retry.delay(afterFailures: failures + 1, using: &generator)
        }
    }
}
