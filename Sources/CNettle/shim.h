#include <nettle/sha2.h>
#include <nettle/version.h>

/* Nettle 4 writes all of a digest, and takes no length. */
static inline void godwit_sha256_digest(struct sha256_ctx *context, unsigned char *digest) {
#if NETTLE_VERSION_MAJOR >= 4
  sha256_digest(context, digest);
#else
  sha256_digest(context, SHA256_DIGEST_SIZE, digest);
#endif
}

static inline void godwit_sha512_digest(struct sha512_ctx *context, unsigned char *digest) {
#if NETTLE_VERSION_MAJOR >= 4
  sha512_digest(context, digest);
#else
  sha512_digest(context, SHA512_DIGEST_SIZE, digest);
#endif
}
