// SPDX-License-Identifier: MIT
#include "store/local/file_system.hpp"

#include <linux/magic.h>

namespace dlock::local {

namespace {

struct Kind {
  std::uint32_t magic;
  std::string_view name;
};

// File systems that another kernel may use: over a network, from the host of a virtual machine, or
// on the shared disk of a cluster. Numbers that are not in linux/magic.h are from stat.c of
// coreutils.
constexpr Kind k_shared[] = {
    {NFS_SUPER_MAGIC, "NFS"},   {SMB_SUPER_MAGIC, "SMB"},     {CIFS_SUPER_MAGIC, "CIFS"},
    {SMB2_SUPER_MAGIC, "SMB2"}, {NCP_SUPER_MAGIC, "NCP"},     {AFS_SUPER_MAGIC, "AFS"},
    {AFS_FS_MAGIC, "AFS"},      {CODA_SUPER_MAGIC, "Coda"},   {CEPH_SUPER_MAGIC, "Ceph"},
    {FUSE_SUPER_MAGIC, "FUSE"},  // this is also the number of virtiofs, sshfs and GlusterFS
    {0x6a656a63, "virtiofs"},   {V9FS_MAGIC, "9p"},           {HOSTFS_SUPER_MAGIC, "hostfs"},
    {0x786f4256, "vboxsf"},     {0xbacbacbc, "VMware HGFS"},  {0x7c7c6673, "Parallels"},
    {0x01161970, "GFS2"},       {OCFS2_SUPER_MAGIC, "OCFS2"}, {0x0bd00bd0, "Lustre"},
    {0x19830326, "BeeGFS"},     {0x20030528, "OrangeFS"},     {0x47504653, "GPFS"},
    {0xaad7aaea, "PanFS"},      {0xbeefdead, "StorNext"},     {0x013111a8, "IBRIX"},
    {0x61636673, "ACFS"},       {0xa501fcf5, "VxFS"},
};

}  // namespace

std::string_view shared_file_system(std::uint32_t magic) {
  for (const Kind& kind : k_shared) {
    if (kind.magic == magic) return kind.name;
  }
  return {};
}

}  // namespace dlock::local
