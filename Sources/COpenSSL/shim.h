#ifndef COPENSSL_SHIM_H
#define COPENSSL_SHIM_H

// What Swift cannot call by itself: macros, variadic functions, and functions whose argument is a macro-typed stack.

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/objects.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

static inline STACK_OF(X509) *COpenSSL_sk_X509_new(void) { return sk_X509_new_null(); }

// Borrows the certificate; it must outlive the stack. Returns the new length, 0 on failure.
static inline int COpenSSL_sk_X509_push(STACK_OF(X509) *stack, X509 *certificate) { return sk_X509_push(stack, certificate); }

// Frees the stack, not the certificates in it.
static inline void COpenSSL_sk_X509_free(STACK_OF(X509) *stack) { sk_X509_free(stack); }

static inline int COpenSSL_sk_X509_num(const STACK_OF(X509) *stack) { return sk_X509_num(stack); }

static inline X509 *COpenSSL_sk_X509_value(const STACK_OF(X509) *stack, int index) { return sk_X509_value(stack, index); }

static inline EVP_PKEY *COpenSSL_EC_gen(const char *group) { return EVP_EC_gen(group); }

static inline EVP_PKEY *COpenSSL_RSA_gen(unsigned int bits) { return EVP_RSA_gen(bits); }

static inline long COpenSSL_BIO_get_mem_data(BIO *bio, char **data) { return BIO_get_mem_data(bio, data); }

// A password callback that gives none: libcrypto's default one would ask on the terminal.
static inline int COpenSSL_no_password(char *buffer, int size, int writing, void *context) {
    (void)buffer, (void)size, (void)writing, (void)context;
    return -1;
}

// Seconds since 1970 in *seconds. Returns 1, or 0 for a time that cannot be read.
static inline int COpenSSL_ASN1_TIME_to_seconds(const ASN1_TIME *time, int64_t *seconds) {
    struct tm parts;
    if (time == NULL || ASN1_TIME_to_tm(time, &parts) != 1) return 0;
    *seconds = (int64_t)timegm(&parts);
    return 1;
}

// The texts of a stack, which X509_email_free frees with them.
static inline int COpenSSL_sk_STRING_num(const STACK_OF(OPENSSL_STRING) *stack) { return sk_OPENSSL_STRING_num(stack); }

static inline const char *COpenSSL_sk_STRING_value(const STACK_OF(OPENSSL_STRING) *stack, int index) {
    return sk_OPENSSL_STRING_value(stack, index);
}

// Adds the extension that `value` describes in the language of x509v3_config(5). Returns 1 on success.
static inline int COpenSSL_X509_add_extension(X509 *certificate, X509 *issuer, int nid, const char *value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509V3_set_ctx_nodb(&context);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    if (extension == NULL) return 0;
    int added = X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
    return added;
}

#endif
