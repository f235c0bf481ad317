/// Why an answer is no page: the window stays as it is and is asked for again.
enum HistoryFault: String, Error {
    /// The answer lacks a member, or one has another form.
    case malformed = "answer_malformed"
    /// A record is of another app or environment.
    case otherApp = "answer_of_another_app"
    /// There are more pages, and no token for them.
    case tokenMissing = "token_missing"
    /// The token of the next page is too long for a URL.
    case tokenLong = "token_too_long"
    /// The token of the next page is one of an earlier page, so that reading would not end.
    case tokenRepeated = "token_repeated"
}
